// Package workload has the work that benchmarks give to queues of string keys:
// cycles, traffic, delays, and measures of memory and order. It knows no queue.
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

// A Taker takes and ends keys in another way than by Get and Done, such as by
// claims. The function, for one consumer, takes and ends up to len(dst) keys, or
// returns 0 after a shutdown.
type Taker interface {
	Taker() func(dst []string) (n int)
}

// A Worker hands keys to a handler in goroutines of its own, until it is shut down.
type Worker interface {
	Work(workers int, handle func(key string))
}

type BatchAdder interface{ AddAll(keys []string) }

// An Engine makes queues of one kind.
type Engine struct {
	Name    string // in reports, such as shardq or client-go
	Shards  int    // of its queues, or 1 if it has none
	MaxKeys int    // of a slow engine, or 0 for no limit
	Works   bool   // its queues are Workers, which is for traffic alone
	Op      string // the only Op that the engine is for, or "" if it is for all
	New     func() Queue
}

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

// Cycle takes one key after the other through Add, Get and Done. Afterwards the
// queue holds what it held before.
func Cycle(q Queue, stream Stream, items int) {
	take, one := takerOf(q), make([]string, 1)
	for i := range items {
		q.Add(stream.At(i))
		take(one)
	}
}

// Rotate takes ready keys and adds them again.
func Rotate(q Queue, items int) {
	take, one := takerOf(q), make([]string, 1)
	for range items {
		take(one)
		q.Add(one[0])
	}
}
