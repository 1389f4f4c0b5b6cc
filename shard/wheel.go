package shard

import (
	"github.com/shardq/shardq/internal/chunked"
	"github.com/shardq/shardq/timerwheel"
)

// A wheel is a timing wheel, and what else a shard keeps of its waiting items.
type wheel struct {
	timerwheel.Wheel
	// filedAt is the earliest reading of the clock by which a timer was filed
	// during the driver's look filedIn: see reading.
	filedAt uint64
	filedIn uint16
	// sweep deals with some of what waits, and reports whether that was all: see
	// sweep. It is nil if no Drain has to.
	sweep func() (all bool)
	// limited counts the items whose wait has a limit, and limits has the tick of
	// each, by id; 0 is none.
	limited int
	limits  chunked.Array[uint64]
	// touched keeps the result of touchTimer, which the compiler would leave out otherwise.
	touched uint64
}

func newWheel(now uint64) *wheel {
	w := &wheel{}
	w.Advance(now, 1, nil) // there is nothing to fire
	return w
}

// limit bounds the wait of an item, and returns the earliest bound that it was ever
// given, or never.
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

// unlimit forgets the limit of an item whose wait has ended.
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
