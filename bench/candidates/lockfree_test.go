package candidates

import (
	"runtime"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v3"
)

// lockFree is a queue without its own lock: a concurrent map of cells whose
// phase changes by compare-and-swap, and a bounded FIFO for many producers and
// consumers. Only the map is not lock-free: inserting and deleting lock a
// bucket, and growing stops every writer.
//
// It has one FIFO, so its order is strict. Its capacity is fixed, and with more
// items Add spins.
type lockFree[T comparable] struct {
	cells *xsync.MapOf[T, *cell[T]]
	fifo  *xsync.MPMCQueueOf[*cell[T]]
	// keep leaves the cells of finished items in the map. That leaks them. It
	// shows what the design would cost if the map were only read.
	keep      bool
	parking   parking
	workReady func() bool // hasWork as a value, made once
	closed    atomic.Bool
	_         cacheLine
	ready     atomic.Int64
	_         cacheLine
}

type cell[T comparable] struct {
	phase atomic.Uint32
	item  T
}

// gone is the phase of a cell that is being removed from the map.
const gone = dirty + 1

func newLockFree[T comparable](capacity int, keep bool) *lockFree[T] {
	q := &lockFree[T]{
		cells:   xsync.NewMapOf[T, *cell[T]](),
		fifo:    xsync.NewMPMCQueueOf[*cell[T]](capacity),
		keep:    keep,
		parking: newOneToken(),
	}
	q.workReady = q.hasWork
	return q
}

func (q *lockFree[T]) Add(item T) {
	if q.closed.Load() {
		return
	}
	for {
		c := q.cellOf(item)
		switch phase := c.phase.Load(); phase {
		case idle:
			if c.phase.CompareAndSwap(idle, ready) {
				q.push(c)
				return
			}
		case processing:
			if c.phase.CompareAndSwap(processing, dirty) {
				return
			}
		case ready, dirty:
			// This is an exchange, and a load is not enough: only a write makes
			// the caller's earlier writes visible to the consumer that takes
			// the item later.
			if c.phase.CompareAndSwap(phase, phase) {
				return
			}
		case gone:
			q.remove(c)
		}
	}
}

func (q *lockFree[T]) cellOf(item T) *cell[T] {
	if c, ok := q.cells.Load(item); ok {
		return c
	}
	c, _ := q.cells.LoadOrStore(item, &cell[T]{item: item})
	return c
}

func (q *lockFree[T]) push(c *cell[T]) {
	for !q.fifo.TryEnqueue(c) {
		runtime.Gosched()
	}
	q.ready.Add(1)
	q.parking.wake()
}

func (q *lockFree[T]) Done(item T) {
	c, ok := q.cells.Load(item)
	if !ok {
		return
	}
	end := gone
	if q.keep {
		end = idle
	}
	for {
		switch {
		case c.phase.CompareAndSwap(processing, end):
			if end == gone {
				q.remove(c)
			}
			return
		case c.phase.CompareAndSwap(dirty, ready):
			q.push(c)
			return
		case c.phase.Load() != processing && c.phase.Load() != dirty:
			return // a second Done
		}
	}
}

// remove removes a cell that is gone from the map, unless another goroutine
// has.
func (q *lockFree[T]) remove(c *cell[T]) {
	q.cells.Compute(c.item, func(present *cell[T], loaded bool) (*cell[T], bool) {
		return present, !loaded || present == c
	})
}

func (q *lockFree[T]) Get() (item T, shutdown bool) {
	searcher := false
	for {
		closed := q.closed.Load()
		item, ok := q.take()
		if searcher {
			q.parking.found(q.workReady)
		}
		if ok || closed {
			return item, !ok
		}
		searcher = q.parking.sleep(q.workReady)
	}
}

func (q *lockFree[T]) hasWork() bool { return q.ready.Load() > 0 || q.closed.Load() }

func (q *lockFree[T]) take() (item T, ok bool) {
	for q.ready.Load() > 0 {
		if c, ok := q.fifo.TryDequeue(); ok {
			q.ready.Add(-1)
			c.take()
			return c.item, true
		}
		runtime.Gosched() // another goroutine is between its two steps
	}
	return item, false
}

// take competes only with deduplicated adds, which leave the phase as it is. It
// swaps because a store would not see their writes.
func (c *cell[T]) take() { c.phase.Swap(processing) }

func (q *lockFree[T]) Len() int { return int(q.ready.Load()) }

func (q *lockFree[T]) ShutDown() {
	q.closed.Store(true)
	q.parking.wakeAll()
}
