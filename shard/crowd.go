package shard

import "github.com/shardq/shardq/internal/shared"

// How a pulse is kept fine enough to measure with, where metrics are kept: as long as few
// operations come, each reads the clock. When they are many, one of them does, and the others
// find its reading, until a shard has had some Gets and Dones since it last asked for another, or the
// driver says that the tick has passed. How many that is follows from how many readings
// there are: between sixteen and sixty-four in a millisecond, so that they take less than a hundredth of a
// processor's time.
//
// Adds share first: as long as there are few Gets and Dones, those read for themselves (see
// refreshForWork).
//
// A reading that others find is old: as a rule by as long as some Gets and Dones take, and
// if those stop, by a tick and what the timer is late. Both ends of a duration are old alike,
// so the mean of many is right, if they are long beside the time that an item takes all the
// way. If they are not, that time is shared out among its parts whatever their lengths are: it goes
// to the part that the reading ends.
//
// The alternative was to time one item of so many, each exactly. It needs a mark in the entry
// of an item, and then the counts, which are exact here, are estimates, and few items are none.

// A crowd tells whether there are too many operations for each to read the clock. Its words
// change one after another: what comes of that is a reading more, or less.
type crowd struct {
	// interval is how many Gets and Dones a shard has for each reading; 0 while each operation
	// reads.
	interval shared.Uint32[shared.Clock]
	// tick is that in which readings are counted, and alone and shared how many there may be in
	// one.
	tick          shared.Uint64[shared.Clock]
	readings      shared.Uint32[shared.Clock]
	alone, shared uint32
}

const (
	// mostAlone is how many readings there may be in a millisecond while each operation
	// reads, before they are shared. As one takes about a hundred nanoseconds, that is 2.5 % of a processor.
	mostAlone = 256
	// mostShared is how many there may be when they are shared, before they become rarer; with
	// a quarter of that they become more. All processors want to see each of them, so there are fewer.
	mostShared = 64
	// longestInterval bounds how rare they become.
	longestInterval = 1024
)

// init takes the length of a tick.
func (c *crowd) init(nanoseconds uint64) {
	inATick := func(perMillisecond float64) uint32 {
		return uint32(min(max(1, perMillisecond*float64(nanoseconds)/1e6), 1<<30))
	}
	c.alone, c.shared = inATick(mostAlone), inATick(mostShared)
}

// read counts a reading in a tick, and returns for how many Gets and Dones it is.
func (c *crowd) read(tick uint64) (interval uint32) {
	before := c.interval.Load()
	interval = c.adapt(tick, before)
	c.readings.Add(1)
	if interval != before {
		c.interval.Store(interval)
	}
	return interval
}

// adapt returns the interval that is right now.
func (c *crowd) adapt(tick uint64, interval uint32) uint32 {
	if before := c.tick.Load(); before != tick {
		c.tick.Store(tick)
		switch n := c.readings.Swap(0); {
		case before+1 != tick: // nothing happened for a tick, or the clock was set back
			return 0
		case n < c.shared/4:
			return interval / 2
		}
		return interval
	}
	most := c.shared
	if interval == 0 {
		most = c.alone
	}
	if c.readings.Load() <= most {
		return interval
	}
	c.readings.Store(0)
	return min(max(1, 2*interval), longestInterval)
}
