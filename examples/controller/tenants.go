package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// floodingTenant is the one that floods.
	floodingTenant = "flood"

	// changeEvery is the interval at which each of the others changes an
	// object.
	changeEvery = 10 * time.Millisecond

	// floodBatch is the number of changes of the flood in one transaction.
	floodBatch = 100
)

func objectOf(tenant string, n int) Key { return Key{tenant, fmt.Sprintf("object-%d", n)} }

// tenant returns the n-th tenant. Number 0 is the one that floods.
func (c config) tenant(n int) (name string, objects int, random *rand.Rand) {
	random = rand.New(rand.NewPCG(c.seed, uint64(n)))
	if n == 0 {
		return floodingTenant, 10 * c.objects, random
	}
	return fmt.Sprintf("tenant-%d", n), c.objects, random
}

// createObjects adds all objects that the database does not have.
func (c *controller) createObjects() error {
	for n := range c.config.tenants + 1 {
		tenant, objects, random := c.config.tenant(n)
		keys := make([]Key, objects)
		for i := range keys {
			keys[i] = objectOf(tenant, i)
		}
		if err := c.state.create(keys, func() string { return newSpec(random) }); err != nil {
			return err
		}
	}
	return nil
}

// letTenantsWork has the tenants change their objects concurrently for the
// duration, or until ctx ends or the database fails.
func (c *controller) letTenantsWork(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, c.config.duration)
	defer stop()
	all := c.config.tenants + 1
	errs := make([]error, all)
	var tenants sync.WaitGroup
	for n := range all {
		tenants.Go(func() {
			if errs[n] = c.letTenantWork(ctx, n); errs[n] != nil {
				stop()
			}
		})
	}
	tenants.Wait()
	return errors.Join(errs...)
}

func (c *controller) letTenantWork(ctx context.Context, n int) error {
	tenant, objects, random := c.config.tenant(n)
	every, changes, most := changeEvery, 1, math.MaxInt
	if tenant == floodingTenant {
		if wait(ctx, c.config.duration/2) != nil {
			return nil
		}
		every, changes, most = 0, floodBatch, c.config.flood
	}
	for most > 0 && wait(ctx, every) == nil {
		keys := make([]Key, min(changes, most))
		for i := range keys {
			keys[i] = objectOf(tenant, random.IntN(objects))
		}
		if err := c.change(keys, random); err != nil {
			return err
		}
		most -= len(keys)
	}
	return nil
}

// change changes the desired state of objects, and then adds their keys. In
// this order, a worker that gets the key later sees the change. If the object
// is in the queue already, that is enough. If a worker has it, it runs once
// more afterwards.
func (c *controller) change(keys []Key, random *rand.Rand) error {
	since := time.Now()
	if err := c.state.change(keys, func() string { return newSpec(random) }); err != nil {
		return err
	}
	for _, key := range keys {
		c.ledger.changed(key, since)
	}
	c.queue.AddBatch(keys)
	return nil
}
