package candidates

import (
	"runtime"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v3"
)

// lockFree is a queue without a lock of its own: a concurrent map of cells whose
// phase changes by compare-and-swap, and a bounded FIFO for many producers and
// consumers. What is not lock-free in it is the map's: inserting and deleting lock a
// bucket, and growing stops every writer.
//
// It has one FIFO, so its order is strict. Its capacity is fixed, and
// more items than that make Add spin.
type lockFree[T comparable] struct {
	cells *xsync.MapOf[T, *cell[T]]
	fifo  *xsync.MPMCQueueOf[*cell[T]]
	// keep leaves the cells of items that are through in the map. That leaks
	// them: it shows what the design would cost if the map were only read.
	keep    bool
	parking parking
	awake   func() bool // look, made into a value once
	closed  atomic.Bool
	_       cacheLine
	ready   atomic.Int64
	_       cacheLine
}

type cell[T comparable] struct {
	phase atomic.Uint32
	item  T
}

// gone is the phase of a cell that is leaving the map.
const gone = dirty + 1

func newLockFree[T comparable](capacity int, keep bool) *lockFree[T] {
	q := &lockFree[T]{
		cells:   xsync.NewMapOf[T, *cell[T]](),
		fifo:    xsync.NewMPMCQueueOf[*cell[T]](capacity),
		keep:    keep,
		parking: newOneToken(),
	}
	q.awake = q.look
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
			// An exchange where a look would do: only what somebody writes
			// makes the caller's earlier writes visible to the consumer that
			// takes the item later.
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

// remove takes a cell that is gone out of the map, unless somebody else has.
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
			q.parking.found(q.awake)
		}
		if ok || closed {
			return item, !ok
		}
		searcher = q.parking.sleep(q.awake)
	}
}

func (q *lockFree[T]) look() bool { return q.ready.Load() > 0 || q.closed.Load() }

func (q *lockFree[T]) take() (item T, ok bool) {
	for q.ready.Load() > 0 {
		if c, ok := q.fifo.TryDequeue(); ok {
			q.ready.Add(-1)
			c.take()
			return c.item, true
		}
		runtime.Gosched() // somebody is halfway through
	}
	return item, false
}

// take competes with merging adds alone, who leave the phase as it is. It swaps
// because a store would not see what they did.
func (c *cell[T]) take() { c.phase.Swap(processing) }

func (q *lockFree[T]) Len() int { return int(q.ready.Load()) }

func (q *lockFree[T]) ShutDown() {
	q.closed.Store(true)
	q.parking.wakeAll()
}
