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
	"container/heap"
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

// observer does nothing here, but a queue that can be observed pays for calls.
type observer[T comparable] interface {
	added(T)
	taken(T)
	finished(T)
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
	if _, busy := q.processing[item]; !busy {
		q.pushLocked(item)
	}
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

const feedSlots = 1000 // calls of AddAfter that can be ahead of the goroutine

// delayed holds items until their deadlines. Callers use its channels. The heap
// and the map belong to the goroutine of run.
type delayed[T comparable] struct {
	feed     chan *delayedItem[T]
	stopped  chan struct{}
	stopOnce *sync.Once

	heap  *deadlineHeap[T]
	known map[T]*delayedItem[T]
}

func newDelayed[T comparable]() delayed[T] {
	return delayed[T]{
		feed: make(chan *delayedItem[T], feedSlots), stopped: make(chan struct{}), stopOnce: new(sync.Once),
		heap: new(deadlineHeap[T]), known: map[T]*delayedItem[T]{},
	}
}

// AddAfter blocks while the goroutine that keeps the delays is 1,000 calls
// behind.
func (q *Queue[T]) AddAfter(item T, duration time.Duration) {
	if q.ShuttingDown() {
		return
	}
	if duration <= 0 {
		q.Add(item)
		return
	}
	select {
	case <-q.delayed.stopped:
	case q.delayed.feed <- &delayedItem[T]{item: item, deadline: time.Now().Add(duration)}:
	}
}

func (d *delayed[T]) stop() { d.stopOnce.Do(func() { close(d.stopped) }) }

// run adds items at their deadlines and accepts new ones, until stop. Like its
// model it sets a new timer in every turn.
func (d *delayed[T]) run(add func(T)) {
	due := make(chan struct{}, 1)
	for {
		d.addDue(add)
		stopTimer := d.arm(due)
		select {
		case <-d.stopped:
			stopTimer()
			return
		case <-due:
		case w := <-d.feed:
			d.accept(w, add)
			d.acceptRest(add)
		}
		stopTimer()
	}
}

func (d *delayed[T]) arm(due chan<- struct{}) (stop func() bool) {
	if d.heap.Len() == 0 {
		return func() bool { return true }
	}
	return time.AfterFunc(time.Until((*d.heap)[0].deadline), func() {
		select {
		case due <- struct{}{}:
		default:
		}
	}).Stop
}

func (d *delayed[T]) addDue(add func(T)) {
	now := time.Now()
	for d.heap.Len() > 0 && !(*d.heap)[0].deadline.After(now) {
		w := heap.Pop(d.heap).(*delayedItem[T])
		delete(d.known, w.item)
		add(w.item)
	}
}

func (d *delayed[T]) acceptRest(add func(T)) {
	for range len(d.feed) {
		d.accept(<-d.feed, add)
	}
}

func (d *delayed[T]) accept(w *delayedItem[T], add func(T)) {
	if !w.deadline.After(time.Now()) {
		add(w.item)
		return
	}
	known, found := d.known[w.item]
	switch {
	case !found:
		heap.Push(d.heap, w)
		d.known[w.item] = w
	case known.deadline.After(w.deadline):
		known.deadline = w.deadline
		heap.Fix(d.heap, known.position)
	}
}

type delayedItem[T comparable] struct {
	item     T
	deadline time.Time
	position int // in the heap
}

type deadlineHeap[T comparable] []*delayedItem[T]

func (h deadlineHeap[T]) Len() int           { return len(h) }
func (h deadlineHeap[T]) Less(i, j int) bool { return h[i].deadline.Before(h[j].deadline) }

func (h deadlineHeap[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].position, h[j].position = i, j
}

func (h *deadlineHeap[T]) Push(w any) {
	added := w.(*delayedItem[T])
	added.position = len(*h)
	*h = append(*h, added)
}

func (h *deadlineHeap[T]) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	(*h)[last] = nil // the array outlives the entry
	*h = (*h)[:last]
	return w
}
