package shard

import (
	"github.com/shardq/shardq/internal/chunked"
	"github.com/shardq/shardq/timerwheel"
)

type wheel struct {
	timerwheel.Wheel
	// filedAt is the earliest reading of the clock by which a timer was filed
	// during the driver's reading filedIn: see reading.
	filedAt uint64
	filedIn uint16
	// sweep handles some of the delayed items, and reports whether none is
	// left. It is nil if no sweep is under way.
	sweep func() (all bool)
	// limited counts the items whose delay has a limit, and limits has the tick
	// of each, by id, or 0.
	limited    int
	limits     chunked.Array[uint64]
	prefetched uint64 // keeps the compiler from removing a prefetch
}

func newWheel(now uint64) *wheel {
	w := &wheel{}
	w.Advance(now, 1, nil) // no timer can expire
	return w
}

// next returns the tick at which the wheel has to be advanced, or never.
func (w *wheel) next() uint64 {
	if w == nil {
		return never
	}
	if tick, ok := w.Next(); ok {
		return tick
	}
	return never
}

// limit returns the earliest limit that this delay was ever given, or never.
func (w *wheel) limit(id uint32, tick uint64) uint64 {
	if tick == never && w.limited == 0 {
		return never
	}
	cell := w.limits.Lookup(id)
	switch {
	case cell != nil && *cell != 0:
		*cell = min(*cell, tick)
	case tick == never:
		return never
	default:
		cell = w.limits.Hold(id)
		*cell = tick
		w.limited++
	}
	return *cell
}

func (w *wheel) unlimit(id uint32) {
	if w.limited == 0 {
		return
	}
	if cell := w.limits.Lookup(id); cell != nil && *cell != 0 {
		*cell = 0
		w.limits.Release(id)
		w.limited--
	}
}
