package workload

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// An Op is what goroutines do side by side, each with keys of its own, beside
// keys that are ready or delayed.
type Op struct {
	Name           string
	Ready, Delayed bool // how the other keys are
	Again          bool // it is done with those keys in another order, or else with new ones
	// Of returns the operation of a queue on some keys, or nil if it has none.
	Of func(q Queue) func(keys []string)
}

type retryingQueue interface {
	AddRateLimited(key string)
	Forget(key string)
}

// A BatchDelayer adds keys with a delay, at once.
type BatchDelayer interface {
	BatchAdder
	AddAllAfter(keys []string, duration time.Duration)
}

// Ops returns what a queue does with keys. No delay expires.
func Ops() []Op {
	return []Op{
		{Name: "Add,new", Ready: true, Of: add},
		{Name: "Add,ready", Ready: true, Again: true, Of: add},
		{Name: "AddAfter,new", Delayed: true, Of: delayBy(farOff)},
		{Name: "AddAfter,delayed", Delayed: true, Again: true, Of: delayBy(farOff / 2)},
		{Name: "AddRateLimited,new", Delayed: true, Of: retry(retryingQueue.AddRateLimited)},
		{Name: "AddRateLimited,Forget", Delayed: true, Of: retry(func(q retryingQueue, key string) { q.AddRateLimited(key); q.Forget(key) })},
		{Name: "Get,Done,Add", Ready: true, Again: true, Of: cycle},
	}
}

func each(do func(key string)) func(keys []string) {
	return func(keys []string) {
		for _, key := range keys {
			do(key)
		}
	}
}

func add(q Queue) func(keys []string) { return func(keys []string) { AddAll(q, keys) } }

func delayBy(d time.Duration) func(q Queue) func(keys []string) {
	return func(q Queue) func(keys []string) {
		if b, ok := q.(BatchDelayer); ok {
			return func(keys []string) { b.AddAllAfter(keys, d) }
		}
		if q, ok := q.(DelayingQueue); ok {
			return each(func(key string) { q.AddAfter(key, d) })
		}
		return nil
	}
}

func retry(do func(q retryingQueue, key string)) func(q Queue) func(keys []string) {
	return func(q Queue) func(keys []string) {
		if _, batches := q.(BatchAdder); batches {
			return nil
		}
		if q, ok := q.(retryingQueue); ok {
			return each(func(key string) { do(q, key) })
		}
		return nil
	}
}

// cycle takes and ends as many keys, which may be others, and adds them again.
func cycle(q Queue) func(keys []string) {
	take, taken := takerOf(q), make([]string, batchSize)
	return func(keys []string) {
		for left := len(keys); left > 0; {
			n := take(taken[:min(left, batchSize)])
			AddAll(q, taken[:n])
			left -= n
		}
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

// Check returns an error if fewer keys are ready afterwards than there must be, or
// if any delay has expired.
func (op Op) Check(q Queue, others, done int) error {
	ready := q.Len()
	switch {
	case op.Delayed && ready > 0:
		return fmt.Errorf("%s: %d keys are ready, want none", op.Name, ready)
	case op.Again:
		done = 0
	}
	if op.Ready && ready < others+done {
		return fmt.Errorf("%s: %d keys are ready, want %d", op.Name, ready, others+done)
	}
	return nil
}

// SideBySide does the operation once for the first keys of each tenant. Each
// goroutine has some tenants.
func (op Op) SideBySide(q Queue, goroutines int, keys [][]string, first int) {
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			do := op.Of(q)
			for t := g; t < len(keys); t += goroutines {
				for some := range slices.Chunk(keys[t][:first], batchSize) {
					do(some)
				}
			}
		})
	}
	all.Wait()
}
