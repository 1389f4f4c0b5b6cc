package heapqueue

import (
	"container/heap"
	"sync"
	"time"
)

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

// arm sends to due at the earliest deadline, if there is one. It returns a
// function that cancels that.
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
	for {
		select {
		case w := <-d.feed:
			d.accept(w, add)
		default:
			return
		}
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

// delayedItem is an item and the time at which to add it.
type delayedItem[T comparable] struct {
	item     T
	deadline time.Time
	position int // in the heap
}

// deadlineHeap is a binary heap for container/heap, with the earliest deadline
// first.
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
