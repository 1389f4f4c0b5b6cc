// Package workload has the work that benchmarks give to queues of string keys:
// cycles, traffic, delays, and measures of memory and order. It knows no queue.
//
// Keys are made beforehand, and warm-ups are not measured.
package workload

import "time"

// A Queue is what all engines have.
type Queue interface {
	Add(key string)
	Get() (key string, shutdown bool)
	Done(key string)
	Len() int
	ShutDown()
}

// A DelayingQueue also has delays.
type DelayingQueue interface {
	Queue
	AddAfter(key string, duration time.Duration)
}

// A Taker takes keys and ends them in another way than by Get and Done, such as
// by claims. Workloads then use that way.
type Taker interface {
	// Taker returns a function for one consumer. It takes and ends at least one
	// key and at most len(dst), or returns 0 after a shutdown.
	Taker() func(dst []string) (n int)
}

// A BatchAdder adds many keys at once.
type BatchAdder interface{ AddAll(keys []string) }

// An Engine makes queues of one kind.
type Engine struct {
	// Name is the engine's name in reports, such as shardq or client-go.
	Name string
	// Shards is the number of shards of its queues, or 1 if it has none.
	Shards int
	// MaxKeys limits the keys, and so the time, of a slow engine.
	//
	// If zero, there is no limit.
	MaxKeys int
	// New makes an empty queue.
	New func() Queue
}

// takerOf returns a function that takes and ends keys.
func takerOf(q Queue) func(dst []string) (n int) {
	if t, ok := q.(Taker); ok {
		return t.Taker()
	}
	return func(dst []string) int {
		key, shutdown := q.Get()
		if shutdown {
			return 0
		}
		q.Done(key)
		dst[0] = key
		return 1
	}
}

// AddAll adds the keys, at once if the queue can.
func AddAll(q Queue, keys []string) {
	if a, ok := q.(BatchAdder); ok {
		a.AddAll(keys)
		return
	}
	for _, key := range keys {
		q.Add(key)
	}
}
