package workload

import (
	"fmt"
	"sync"
	"time"
)

// An Op is what goroutines do side by side, each with keys of its own, beside
// keys that are ready or delayed.
type Op struct {
	Name           string
	Ready, Delayed bool // how the other keys are
	Again          bool // it is done with those keys, or else with new ones
	// Of returns the operation of a queue, or nil if it has none.
	Of func(q Queue) func(key string)
}

type retryingQueue interface {
	AddRateLimited(key string)
	Forget(key string)
}

// Ops returns what a queue does with one key. No delay expires.
func Ops() []Op {
	add := func(q Queue) func(key string) { return q.Add }
	delayTo := func(d time.Duration) func(q Queue) func(key string) {
		return func(q Queue) func(key string) {
			if q, ok := q.(DelayingQueue); ok {
				return func(key string) { q.AddAfter(key, d) }
			}
			return nil
		}
	}
	retry := func(forgets bool) func(q Queue) func(key string) {
		return func(q Queue) func(key string) {
			r, ok := q.(retryingQueue)
			switch {
			case !ok:
				return nil
			case forgets:
				return func(key string) { r.AddRateLimited(key); r.Forget(key) }
			}
			return r.AddRateLimited
		}
	}
	cycle := func(q Queue) func(key string) {
		take, one := takerOf(q), make([]string, 1)
		return func(string) {
			take(one)
			q.Add(one[0])
		}
	}
	return []Op{
		{Name: "Add,new", Ready: true, Of: add},
		{Name: "Add,ready", Ready: true, Again: true, Of: add},
		{Name: "AddAfter,new", Delayed: true, Of: delayTo(farOff)},
		{Name: "AddAfter,delayed", Delayed: true, Again: true, Of: delayTo(farOff / 2)},
		{Name: "AddRateLimited,new", Of: retry(false)},
		{Name: "AddRateLimited,Forget", Of: retry(true)},
		{Name: "Get,Done,Add", Ready: true, Again: true, Of: cycle},
	}
}

// Tenants returns keys of 30 bytes for each of some tenants, in random order.
func Tenants(tenants, each, first int) [][]string {
	keys := make([][]string, tenants)
	for t := range keys {
		own := make([]string, each)
		for i := range own {
			own[i] = fmt.Sprintf("tenant-%04d/invoices/%09d", t, first+i)
		}
		keys[t] = Shuffled(own)
	}
	return keys
}

// TenantOf returns the tenant of a key.
func TenantOf(key string) string { return key[:len("tenant-0000")] }

// Prepare fills a queue with the keys beside which the operation is done.
func (op Op) Prepare(q Queue, keys [][]string) {
	for _, own := range keys {
		switch {
		case op.Ready:
			AddAll(q, own)
		case op.Delayed:
			for i, key := range own {
				q.(DelayingQueue).AddAfter(key, delayOf(i, 0))
			}
		}
	}
}

// SideBySide does the operation once for the first keys of each tenant. Each
// goroutine has some tenants.
func (op Op) SideBySide(q Queue, goroutines int, keys [][]string, first int) {
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			do := op.Of(q)
			for t := g; t < len(keys); t += goroutines {
				for _, key := range keys[t][:first] {
					do(key)
				}
			}
		})
	}
	all.Wait()
}
