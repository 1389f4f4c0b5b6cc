package shard

import (
	"github.com/shardq/shardq/internal/chunked"
	"github.com/shardq/shardq/shard/internal/ticks"
	"github.com/shardq/shardq/timerwheel"
)

type wheel struct {
	timerwheel.Wheel
	filedAt    uint64 // the earliest reading by which a timer was filed since the driver's reading filedIn began
	filedIn    uint16
	sweep      func() (all bool) // handles some of the delayed items, while a sweep is under way
	limited    int               // the items whose delay has a limit, and its tick or 0, by id
	limits     chunked.Array[uint64]
	prefetched uint64 // keeps the compiler from removing a prefetch
}

func newWheel(now uint64) *wheel {
	w := &wheel{}
	w.Advance(now, 1, nil) // no timer can expire
	return w
}

func (w *wheel) next() uint64 {
	if w == nil {
		return never
	}
	if tick, ok := w.Next(); ok {
		return tick
	}
	return never
}

func (w *wheel) limit(id uint32, tick uint64) uint64 {
	if tick == never && w.limited == 0 {
		return never
	}
	cell := chunked.Lookup(&w.limits, id)
	switch {
	case cell != nil && *cell != 0:
		*cell = min(*cell, tick)
	case tick == never:
		return never
	default:
		cell = chunked.Hold(&w.limits, id)
		*cell = tick
		w.limited++
	}
	return *cell
}

func (w *wheel) unlimit(id uint32) {
	if w.limited == 0 {
		return
	}
	if cell := chunked.Lookup(&w.limits, id); cell != nil && *cell != 0 {
		*cell = 0
		chunked.Release(&w.limits, id)
		w.limited--
	}
}

// An item in its backoff has one of these in place of a limit, which it does
// not need, because no add changes its delay. If it serves adds, it is not
// dropped.
const (
	backingOff        = never - 1
	backingOffForAdds = never - 2
)

func (w *wheel) beginBackoff(id uint32) { w.limit(id, backingOff) }

func (w *wheel) backsOff(id uint32) bool {
	if w == nil || w.limited == 0 {
		return false
	}
	cell := chunked.Lookup(&w.limits, id)
	return cell != nil && *cell >= backingOffForAdds
}

// serve lets the run at the end of a backoff serve an add.
func (w *wheel) serve(id uint32) { w.limit(id, backingOffForAdds) }

func (w *wheel) serves(id uint32) bool {
	return w.backsOff(id) && *chunked.At(&w.limits, id) == backingOffForAdds
}

func (w *wheel) endBackoff(id uint32) {
	if w.backsOff(id) {
		w.unlimit(id)
	}
}

// A reading is a reading of the clock. Its number is that of the last reading
// of the driver that had begun when it was taken, or just after.
//
// The race to lose: the driver reads the clock; the clock is set back; an
// AddAfter reads it, and files a deadline before the driver's reading; the
// driver makes the item ready, too early. The user's clock cannot be read under
// a lock. So the shard remembers what was filed since the driver began to read.
// The driver advances only to the earliest of those readings, and reads again
// at once.
type reading struct {
	now         uint64
	number      uint16
	nanoseconds uint64 // the same moment, finer
}

// filed notes the earliest reading of timers filed during one of the driver. It
// forgets that once the driver has begun another, which will be later. A count
// that has wrapped around only makes the driver read twice.
func (w *wheel) filed(at reading, readings uint16) {
	switch {
	case at.number != readings:
	case at.number != w.filedIn:
		w.filedIn, w.filedAt = at.number, at.now
	default:
		w.filedAt = min(w.filedAt, at.now)
	}
}

func (w *wheel) safe(at reading) uint64 {
	if at.number == w.filedIn {
		return min(at.now, w.filedAt)
	}
	return at.now
}

// never is a tick that the clock never reaches.
const never = ticks.Never
