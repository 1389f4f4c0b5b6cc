package shard

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
)

// ErrFull is what [Set.TryAdd] returns when there is no room for another item.
var ErrFull = errors.New("shardq: queue is full")

// A room counts the items that a queue holds, whatever their state, and lets those who
// ask for room wait in a line until there is some. A nil room does nothing: a queue
// without a bound has none, and pays for none.
//
// Somebody who leaves, and somebody who joins the line, cannot miss each other: the one
// lowers held and then looks whether there is a line, the other joins the line and then
// looks at held. One of the looks comes last.
type room struct {
	capacity int64
	held     atomic.Int64
	// exceeded counts the items that were taken in beyond the capacity.
	exceeded atomic.Uint64
	// lined is the length of the line, with whoever is on the way.
	lined atomic.Int32
	level watermarks

	mu    sync.Mutex // guards the fields below
	first *guest
	last  *guest
	// onTheWay says that somebody was let in who has not come to add yet. The next has to
	// wait for that, so that items are added in the order of the line.
	onTheWay bool
	// closed says that nobody is let in any more.
	closed bool
}

// A guest waits in the line.
type guest struct {
	next, previous *guest
	// settled is closed when the guest has left the line for one of two reasons.
	settled chan struct{}
	refused bool
}

// newRoom returns the room of a configuration, or nil.
func newRoom(capacity, high, low int64, hook func(high bool)) *room {
	if capacity == 0 && hook == nil {
		return nil
	}
	r := &room{capacity: capacity}
	if capacity == 0 {
		r.capacity = math.MaxInt64
	}
	r.level.high, r.level.low, r.level.hook = high, low, hook
	return r
}

// enter counts an item that is taken in without asking. It may be called with a shard's
// lock held.
func (r *room) enter() {
	if r != nil && r.held.Add(1) > r.capacity {
		r.exceeded.Add(1)
	}
}

// tryEnter counts an item if there is room for it that nobody waits for. It may be called
// with a shard's lock held.
func (r *room) tryEnter() bool { return r == nil || r.lined.Load() == 0 && r.reserve() }

func (r *room) reserve() bool {
	for {
		held := r.held.Load()
		if held >= r.capacity {
			return false
		}
		if r.held.CompareAndSwap(held, held+1) {
			return true
		}
	}
}

// leave counts an item that is held no more. It may be called with a shard's lock held;
// look is to be called once that is released.
func (r *room) leave() {
	if r != nil {
		r.held.Add(-1)
	}
}

// look lets in who waits, if there is room, and tells the hook of what the level has come
// to. It is to be called after held has changed, with no lock held.
func (r *room) look() {
	if r != nil {
		r.lookAround()
	}
}

func (r *room) lookAround() {
	if r.lined.Load() > 0 && r.held.Load() < r.capacity {
		r.mu.Lock()
		r.letInLocked()
		r.mu.Unlock()
	}
	r.level.look(&r.held)
}

// letInLocked gives room to the first in the line, if there is some, and nobody on the way.
func (r *room) letInLocked() {
	if r.first != nil && !r.onTheWay && r.reserve() {
		r.onTheWay = true
		r.lined.Add(1) // for the way
		r.settleLocked(r.first)
	}
}

// arrive is called by somebody who was let in and has added.
func (r *room) arrive() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onTheWay = false
	r.lined.Add(-1)
	r.letInLocked()
}

// wait waits in the line until there is room, which the caller then has, or ctx has
// ended, or the queue is shut down.
func (r *room) wait(ctx context.Context) error {
	g := &guest{settled: make(chan struct{})}
	if !r.join(g) {
		return ErrShutDown
	}
	select {
	case <-g.settled:
	case <-ctx.Done():
		if r.quit(g) {
			return ctx.Err()
		}
		// It was let in, or refused, meanwhile: so be it.
	}
	if g.refused {
		return ErrShutDown
	}
	return nil
}

func (r *room) join(g *guest) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	if g.previous = r.last; r.last == nil {
		r.first = g
	} else {
		r.last.next = g
	}
	r.last = g
	r.lined.Add(1)
	r.letInLocked()
	return true
}

// quit takes a guest out of the line, and reports whether it was still there.
func (r *room) quit(g *guest) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-g.settled:
		return false
	default:
		r.settleLocked(g)
		return true
	}
}

// settleLocked takes a guest out of the line, and tells it.
func (r *room) settleLocked(g *guest) {
	if g.previous == nil {
		r.first = g.next
	} else {
		g.previous.next = g.next
	}
	if g.next == nil {
		r.last = g.previous
	} else {
		g.next.previous = g.previous
	}
	g.next, g.previous = nil, nil
	r.lined.Add(-1)
	close(g.settled)
}

// close refuses all who wait, and who come later.
func (r *room) close() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for r.first != nil {
		r.first.refused = true
		r.settleLocked(r.first)
	}
}
