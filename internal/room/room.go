// Package room bounds how much is held at once: it counts what comes and goes, and lets
// those who ask for room wait in a line until there is some.
package room

import (
	"context"
	"errors"
	"math"
	"sync"

	"github.com/shardq/shardq/internal/shared"
)

// ErrClosed is what [Room.Wait] returns once the room is closed.
var ErrClosed = errors.New("room is closed")

// A Room counts what is held, by weight, and lets those who ask for room wait in a line
// until there is some. Every weight is 1 or more. What weighs more than the whole capacity
// has room when nothing else is held, or it would wait for ever; then the room is
// overfull.
//
// A nil Room has room for everything and does nothing: who has no bound pays for none.
//
// Enter, TryEnter and Leave may be called with a lock held; Look is to be called once that
// is released, and everything else with no lock held.
//
// Somebody who leaves, and somebody who joins the line, cannot miss each other: the one
// lowers held and then looks whether there is a line, the other joins the line and then
// looks at held. One of the looks comes last.
type Room struct {
	capacity int64
	held     shared.Int64[shared.Held]
	// exceeded counts how often something was taken in beyond the capacity.
	exceeded shared.Uint64[shared.Held]
	// lined is the length of the line, with whoever is on the way.
	lined shared.Int32[shared.Held]
	level watermarks

	mu    sync.Mutex // guards the fields below
	first *guest
	last  *guest
	// onTheWay says that somebody was let in who has not arrived yet. The next has to
	// wait for that, so that all arrive in the order of the line.
	onTheWay bool
	// closed says that nobody is let in any more.
	closed bool
}

// A guest waits in the line.
type guest struct {
	weight         int64
	next, previous *guest
	// settled is closed when the guest has left the line for one of two reasons.
	settled chan struct{}
	refused bool
}

// New returns a room, or nil if there is neither a bound, as with a capacity of 0, nor a
// hook. The hook is told when the weight that is held has risen to high, and then when it
// has fallen to low, in turn, one call at a time, by whoever calls Look; it may panic.
func New(capacity, high, low int64, hook func(high bool)) *Room {
	if capacity == 0 && hook == nil {
		return nil
	}
	r := &Room{capacity: capacity}
	if capacity == 0 {
		r.capacity = math.MaxInt64
	}
	r.level.high, r.level.low, r.level.hook = high, low, hook
	return r
}

// Enter counts a weight that is taken in without asking.
func (r *Room) Enter(weight int64) {
	if r != nil && r.held.Add(weight) > r.capacity {
		r.exceeded.Add(1)
	}
}

// TryEnter counts a weight if there is room for it that nobody waits for.
func (r *Room) TryEnter(weight int64) bool {
	return r == nil || r.lined.Load() == 0 && r.reserve(weight)
}

// reserve counts a weight if there is room for it.
func (r *Room) reserve(weight int64) bool {
	for {
		held := r.held.Load()
		if held > 0 && held > r.capacity-weight { // not a sum, which might overflow
			return false
		}
		if r.held.CompareAndSwap(held, held+weight) {
			return true
		}
	}
}

// Leave counts a weight that is held no more.
func (r *Room) Leave(weight int64) {
	if r != nil {
		r.held.Add(-weight)
	}
}

// Held returns the weight that is held.
func (r *Room) Held() int64 {
	if r == nil {
		return 0
	}
	return r.held.Load()
}

// Exceeded returns how often Enter went beyond the capacity.
func (r *Room) Exceeded() uint64 {
	if r == nil {
		return 0
	}
	return r.exceeded.Load()
}

// Look lets in who waits, if there is room, and tells the hook of what the level has come
// to. It is to be called after the weight that is held has changed.
func (r *Room) Look() {
	if r != nil {
		r.lookAround()
	}
}

func (r *Room) lookAround() {
	if r.lined.Load() > 0 && r.held.Load() < r.capacity {
		r.mu.Lock()
		r.letInLocked()
		r.mu.Unlock()
	}
	r.level.look(&r.held)
}

// letInLocked gives room to the first in the line, if there is some, and nobody on the way.
func (r *Room) letInLocked() {
	if r.first != nil && !r.onTheWay && r.reserve(r.first.weight) {
		r.onTheWay = true
		r.lined.Add(1) // for the way
		r.settleLocked(r.first)
	}
}

// Arrive is to be called by whoever was let in by Wait, when what it came for is done, or
// has failed: the next in the line waits for that.
func (r *Room) Arrive() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onTheWay = false
	r.lined.Add(-1)
	r.letInLocked()
}

// Wait waits in the line until there is room for a weight, which the caller then has, and
// for which it is to call [Room.Arrive]. It returns ctx.Err() if ctx has ended before, and
// ErrClosed if the room is closed.
func (r *Room) Wait(ctx context.Context, weight int64) error {
	g := &guest{weight: weight, settled: make(chan struct{})}
	if !r.join(g) {
		return ErrClosed
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
		return ErrClosed
	}
	return nil
}

func (r *Room) join(g *guest) bool {
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
func (r *Room) quit(g *guest) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-g.settled:
		return false
	default:
		r.settleLocked(g)
		r.letInLocked() // who is first now may want less
		return true
	}
}

// settleLocked takes a guest out of the line, and tells it.
func (r *Room) settleLocked(g *guest) {
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

// Line returns the lock of the line, for tests that hold somebody up at it.
func (r *Room) Line() *sync.Mutex { return &r.mu }

// Close refuses all who wait, and who come later.
func (r *Room) Close() {
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
