package main

import (
	"context"
	"errors"
	"log"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

type key struct{ tenant, name string }

func (k key) String() string { return k.tenant + "/" + k.name }

const (
	latency     = 4 * time.Millisecond   // of a call of the API
	callTimeout = 250 * time.Millisecond // ends a call that heeds it
	resyncEvery = 3 * time.Second
	lowPriority = -100 // of the list of all objects; a change has 0
)

// stuckAfter is longer than a busy machine keeps a call that heeds its timeout.
var stuckAfter = 2 * time.Second

type controller struct {
	config config
	log    *log.Logger
	queue  *shardq.Queue[key]

	changes, calls, failures, stuck, overlaps atomic.Int64

	working sync.Map    // the keys that workers have
	ending  atomic.Bool // no more resyncs
	hung    atomic.Bool // the stuckKey

	mu                sync.Mutex
	desired, observed map[key]int // generations
}

func newController(config config, log *log.Logger) (c *controller, err error) {
	c = &controller{config: config, log: log, desired: map[key]int{}, observed: map[key]int{}}
	c.queue, err = shardq.New(shardq.Options[key]{
		Name:                "controller",
		RateLimiter:         limiter.NewExponential[key](5*time.Millisecond, 500*time.Millisecond),
		LowPriorityInterval: 16, // endless changes would keep the list waiting forever
		// Each tenant has its turn, and no one occupies all workers.
		Group:       func(k key) string { return k.tenant },
		GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: max(1, config.workers*3/4)} },
		StuckAfter:  stuckAfter,
		OnStuck: func(i stats.Item[key]) {
			c.stuck.Add(1)
			c.log.Printf("%v: attempt %d hangs for %v by now", i.Item, i.Attempts+1, stuckAfter)
		},
		Metrics: true, // for the page
	})
	return c, err
}

func (c *controller) run(ctx context.Context) error {
	workers, err := worker.New(c.queue, worker.Options[key]{
		Workers: c.config.workers, Handle: c.reconcile, Timeout: callTimeout,
		OnError:      func(context.Context, worker.Failure[key]) { c.failures.Add(1) },
		Drain:        c.queue.DrainWith(shardq.DrainOptions{Delayed: shardq.RunDelayed}),
		DrainTimeout: c.config.patience,
	})
	if err != nil {
		return err
	}
	return workers.Run(ctx)
}

func (c *controller) list(k key) {
	c.desired[k] = 1
	c.queue.AddWith(k, shardq.AddOptions{Priority: lowPriority})
}

// change adds the key last: the worker that gets it sees the change.
func (c *controller) change(k key) {
	c.mu.Lock()
	c.desired[k]++
	c.mu.Unlock()
	c.changes.Add(1)
	c.queue.Add(k)
}

// No two workers have a key at once, so that nothing here locks the object.
func (c *controller) reconcile(ctx context.Context, k key) error {
	if _, twice := c.working.LoadOrStore(k, true); twice {
		c.overlaps.Add(1)
	}
	defer c.working.Delete(k)
	c.mu.Lock()
	desired, observed := c.desired[k], c.observed[k]
	c.mu.Unlock()
	if desired != observed {
		if err := c.call(ctx, k, desired); err != nil {
			return err // is retried after a delay that doubles
		}
	}
	if c.ending.Load() {
		return nil
	}
	return worker.RequeueAfter(resyncEvery) // no failure: just look again
}

// call simulates the API. The first call for one object ignores its context.
func (c *controller) call(ctx context.Context, k key, generation int) error {
	if c.calls.Add(1); k == stuckKey && c.hung.CompareAndSwap(false, true) {
		time.Sleep(c.config.stuck)
	}
	select {
	case <-time.After(latency):
	case <-ctx.Done():
	}
	if rand.Float64() < c.config.fail {
		return errors.New("the API is not available")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.observed[k] = generation
	return nil
}
