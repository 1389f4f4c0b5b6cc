// Package heapqueue is the design of the work queue that most programs use
// today, written again as a baseline: one mutex with one condition variable, a
// set of dirty items, a set of items in processing, a slice as the FIFO, and
// delays in a binary heap that one goroutine owns and a channel feeds.
//
// It is the design of client-go's workqueue, with its weaknesses. A Done
// without a Get can corrupt the order. AddAfter blocks while the 1,000 slots of
// the channel are full. Use it to compare, not to build upon.
package heapqueue

import (
	"sync"
	"time"

	"github.com/shardq/shardq/limiter"
)

// Options configure a [Queue]. The zero Options is a complete queue.
type Options[T comparable] struct {
	// RateLimiter computes the delays of AddRateLimited. If nil, it is a backoff
	// for each item from 5 ms up to 1000 s.
	RateLimiter limiter.Limiter[T]
}

// A Queue has the methods of client-go's rate limiting queue. It must be made by
// [New], and must be shut down, or its goroutine stays.
type Queue[T comparable] struct {
	mu      sync.Mutex
	changed *sync.Cond // on mu: the FIFO or the processing set changed

	// mu guards these. Each item of the FIFO is dirty and not in processing.
	fifo         []T
	dirty        map[T]struct{}
	processing   map[T]struct{}
	shuttingDown bool
	draining     bool

	limiter  limiter.Limiter[T]
	observer observer[T]
	delayed  delayed[T]
}

// observer is called for each change of an item's state. Here it does nothing,
// but a queue that can be observed pays for the calls.
type observer[T comparable] interface {
	added(item T)
	taken(item T)
	finished(item T)
}

type noObserver[T comparable] struct{}

func (noObserver[T]) added(T)    {}
func (noObserver[T]) taken(T)    {}
func (noObserver[T]) finished(T) {}

// New returns an empty queue and starts the goroutine that keeps its delays.
func New[T comparable](options Options[T]) *Queue[T] {
	if options.RateLimiter == nil {
		options.RateLimiter = limiter.NewExponential[T](5*time.Millisecond, 1000*time.Second)
	}
	q := &Queue[T]{
		dirty: map[T]struct{}{}, processing: map[T]struct{}{}, limiter: options.RateLimiter,
		observer: noObserver[T]{}, delayed: newDelayed[T](),
	}
	q.changed = sync.NewCond(&q.mu)
	go q.delayed.run(q.Add)
	return q
}

func (q *Queue[T]) Add(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.shuttingDown {
		return
	}
	if _, known := q.dirty[item]; known {
		return
	}
	q.observer.added(item)
	q.dirty[item] = struct{}{}
	if _, busy := q.processing[item]; busy {
		return
	}
	q.pushLocked(item)
}

func (q *Queue[T]) Get() (item T, shutdown bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.fifo) == 0 && !q.shuttingDown {
		q.changed.Wait()
	}
	if len(q.fifo) == 0 {
		return item, true
	}
	item = q.popLocked()
	q.observer.taken(item)
	q.processing[item] = struct{}{}
	delete(q.dirty, item)
	return item, false
}

func (q *Queue[T]) Done(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.observer.finished(item)
	delete(q.processing, item)
	if _, again := q.dirty[item]; again {
		q.pushLocked(item)
	} else if len(q.processing) == 0 {
		q.changed.Signal() // a drain may wait for this
	}
}

func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.fifo)
}

func (q *Queue[T]) AddRateLimited(item T)  { q.AddAfter(item, q.limiter.When(item)) }
func (q *Queue[T]) Forget(item T)          { q.limiter.Forget(item) }
func (q *Queue[T]) NumRequeues(item T) int { return q.limiter.NumRequeues(item) }

func (q *Queue[T]) pushLocked(item T) {
	q.fifo = append(q.fifo, item)
	q.changed.Signal()
}

func (q *Queue[T]) popLocked() T {
	var zero T
	item := q.fifo[0]
	q.fifo[0] = zero // the slice's array outlives the item
	q.fifo = q.fifo[1:]
	return item
}

// ShutDown drops later adds and the delayed items, and ends every blocked call.
func (q *Queue[T]) ShutDown() { q.shutDown(false) }

// ShutDownWithDrain is ShutDown that blocks until no item is in processing.
func (q *Queue[T]) ShutDownWithDrain() { q.shutDown(true) }

func (q *Queue[T]) shutDown(drain bool) {
	q.delayed.stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shuttingDown, q.draining = true, drain
	q.changed.Broadcast()
	if !drain {
		return
	}
	for len(q.processing) != 0 && q.draining {
		q.changed.Wait()
	}
	q.changed.Signal() // the next drain that waits: Done wakes only one
}

func (q *Queue[T]) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.shuttingDown
}
