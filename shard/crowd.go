package shard

import "sync/atomic"

// How a pulse is kept fine enough to measure with, where metrics are kept: as long as few
// operations come, each reads the clock. When they are many, they read in turns: one of them
// does, and some of the others find its reading, until the driver says that the tick has passed, or a
// shard that it has had enough operations since it last said so. Nobody says so while
// nothing happens.
//
// A reading that others find is old: as a rule by as long as a few dozen operations take, and
// if these stop at once, by a tick and what the timer is late. Both ends of a duration are
// old alike, so the mean of many is right.
//
// The alternative was to time one item of so many, each exactly. It needs a mark in the entry
// of an item, and then the counts, which are exact here, are estimates, and few items are none.

// A crowd tells whether there are too many operations for each to read the clock. The three
// words are for its own use, and change one after another: what comes of that is a reading
// more, or less.
type crowd struct {
	// tick is that in which readings are counted.
	tick     atomic.Uint64
	readings atomic.Uint32
	dense    atomic.Bool
}

const (
	// mostReadings bounds the readings in a millisecond while each operation reads. As
	// 65 ns is a reading, 512 of them take 3 % of a processor.
	mostReadings = 512
	// fewReadings is when the crowd has gone: as many readings in a millisecond, in turns.
	fewReadings = mostReadings / 2 / operationsPerReading
	// operationsPerReading is how many operations a shard has for each of its readings, in
	// turns.
	operationsPerReading = 64
)

// isDense counts a reading in a tick of so many nanoseconds, and reports whether others are to
// find it.
func (c *crowd) isDense(tick, nanoseconds uint64) bool {
	if before := c.tick.Load(); before != tick {
		n := c.readings.Swap(0)
		c.tick.Store(tick)
		few := atLeastOne(fewReadings, nanoseconds)
		c.dense.Store(before+1 == tick && c.dense.Load() && n > few)
	}
	if c.dense.Load() {
		c.readings.Add(1)
		return true
	}
	if c.readings.Add(1) <= atLeastOne(mostReadings, nanoseconds) {
		return false
	}
	c.dense.Store(true)
	return true
}

// atLeastOne returns how many there are in a tick if there are so many in a millisecond.
func atLeastOne(perMillisecond, tick uint64) uint32 {
	return uint32(max(1, perMillisecond*tick/1e6))
}
