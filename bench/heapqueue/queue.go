// Package heapqueue is the design of the work queue that most programs use
// today, written again as a baseline: one mutex with one condition variable, a
// set of dirty items, a set of items in processing, a slice as the FIFO, and
// delays in a binary heap that one goroutine owns and a channel feeds.
//
// It is the design of client-go's workqueue, with its weaknesses. A Done
// without a Get can corrupt the order. AddAfter blocks while the 1,000 slots of
// the channel are full. [Queue.ShutDownWithDrain] waits only for the items in
// processing. One thing is better: either shutdown ends the goroutine. Use it
// to compare, not to build upon.
package heapqueue

import (
	"sync"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
)

// Options configure a [Queue]. The zero Options is a complete queue.
type Options[T comparable] struct {
	// RateLimiter computes the delays of AddRateLimited.
	//
	// If nil, it is a backoff for each item that starts at 5 ms and doubles
	// with each requeue up to 1000 s.
	RateLimiter limiter.Limiter[T]

	// Clock is the source of time for delays.
	//
	// If nil, it is [clock.Real].
	Clock clock.Clock
}

// A Queue is a work queue of items of type T, with the method set of
// shardq.Queue. All its methods are safe for concurrent use. It must be made by
// [New], must not be copied, and must be shut down, or its goroutine stays.
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
	if options.Clock == nil {
		options.Clock = clock.Real()
	}
	q := &Queue[T]{
		dirty:      map[T]struct{}{},
		processing: map[T]struct{}{},
		limiter:    options.RateLimiter,
		observer:   noObserver[T]{},
		delayed:    newDelayed[T](options.Clock),
	}
	q.changed = sync.NewCond(&q.mu)
	go q.delayed.run(q.Add)
	return q
}

// Add makes item ready, unless it is ready already. An item in processing
// becomes ready at its Done. It never blocks. After a shutdown it does nothing.
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

// Get takes the item that has been ready longest, and blocks until there is
// one. The caller owes a Done for it. After a shutdown Get does not block. If
// nothing is ready then, it returns the zero T and true.
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

// Done ends the processing of item, and makes it ready again if it was added
// meanwhile.
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

// Len returns the number of ready items.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.fifo)
}

// AddRateLimited adds item after the delay that the limiter returns.
func (q *Queue[T]) AddRateLimited(item T) { q.AddAfter(item, q.limiter.When(item)) }

// Forget clears the limiter's history of item. It does not replace Done.
func (q *Queue[T]) Forget(item T) { q.limiter.Forget(item) }

// NumRequeues returns how often the limiter has delayed item since its Forget.
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
