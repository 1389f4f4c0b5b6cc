package heapqueue

import (
	"container/heap"
	"sync"
	"time"

	"github.com/shardq/shardq/clock"
)

// feedSlots is the number of AddAfter calls that can be ahead of the goroutine
// before they block.
const feedSlots = 1000

// delayed holds items until their deadlines. Callers use its channels. The heap
// and the map belong to the goroutine of run.
type delayed[T comparable] struct {
	clock    clock.Clock
	feed     chan *delayedItem[T]
	stopped  chan struct{}
	stopOnce *sync.Once

	heap  *deadlineHeap[T]
	known map[T]*delayedItem[T]
}

func newDelayed[T comparable](source clock.Clock) delayed[T] {
	return delayed[T]{
		clock:    source,
		feed:     make(chan *delayedItem[T], feedSlots),
		stopped:  make(chan struct{}),
		stopOnce: new(sync.Once),
		heap:     new(deadlineHeap[T]),
		known:    map[T]*delayedItem[T]{},
	}
}

// AddAfter adds item when the duration has passed, or at once if it is zero or
// less. If item is delayed already, the earlier deadline counts. It blocks
// while the goroutine that keeps the delays is 1,000 calls behind.
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
	case q.delayed.feed <- &delayedItem[T]{item: item, deadline: q.delayed.clock.Now().Add(duration)}:
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
	wait := (*d.heap)[0].deadline.Sub(d.clock.Now())
	return d.clock.AfterFunc(wait, func() {
		select {
		case due <- struct{}{}:
		default:
		}
	}).Stop
}

func (d *delayed[T]) addDue(add func(T)) {
	now := d.clock.Now()
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
	if !w.deadline.After(d.clock.Now()) {
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
