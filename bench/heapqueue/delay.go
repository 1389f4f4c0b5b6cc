package heapqueue

import (
	"container/heap"
	"sync"
	"time"

	"github.com/shardq/shardq/clock"
)

// feedSlots is how many AddAfter calls can be ahead of the goroutine before they
// block.
const feedSlots = 1000

// delayed holds items until their deadline. Callers reach it through its
// channels; the heap and the map belong to the goroutine of run.
type delayed[T comparable] struct {
	clock    clock.Clock
	feed     chan *waiting[T]
	stopped  chan struct{}
	stopOnce *sync.Once

	heap  *deadlineHeap[T]
	known map[T]*waiting[T]
}

func newDelayed[T comparable](source clock.Clock) delayed[T] {
	return delayed[T]{
		clock:    source,
		feed:     make(chan *waiting[T], feedSlots),
		stopped:  make(chan struct{}),
		stopOnce: new(sync.Once),
		heap:     new(deadlineHeap[T]),
		known:    map[T]*waiting[T]{},
	}
}

// AddAfter adds item once duration has passed, at once if it is zero or less. If
// item waits already, the earlier deadline counts. It blocks while the goroutine
// that keeps the delays is 1,000 calls behind.
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
	case q.delayed.feed <- &waiting[T]{item: item, deadline: q.delayed.clock.Now().Add(duration)}:
	}
}

func (d *delayed[T]) stop() { d.stopOnce.Do(func() { close(d.stopped) }) }

// run adds what is due and takes in what is fed, until stop. Like its model it
// arms a new timer on every turn.
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
			d.takeIn(w, add)
			d.takeInRest(add)
		}
		stopTimer()
	}
}

// arm lets due receive at the earliest deadline, if there is one, and returns
// what calls that off.
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
		w := heap.Pop(d.heap).(*waiting[T])
		delete(d.known, w.item)
		add(w.item)
	}
}

func (d *delayed[T]) takeInRest(add func(T)) {
	for {
		select {
		case w := <-d.feed:
			d.takeIn(w, add)
		default:
			return
		}
	}
}

func (d *delayed[T]) takeIn(w *waiting[T], add func(T)) {
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
