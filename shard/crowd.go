package shard

import "sync/atomic"

// How a pulse is kept fine enough to measure with, where metrics are kept: as long as few
// operations come, each reads the clock. When they are many, one of them does, and the others
// find its reading, until a shard has had some Gets and Dones since it last asked for another, or the
// driver says that the tick has passed. How many that is follows from how many readings
// there are: between some sixty and two hundred and fifty in a millisecond, so that they take two or three
// hundredths of a processor's time.
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
	interval atomic.Uint32
	// tick is that in which readings are counted, and most how many there may be in one.
	tick     atomic.Uint64
	readings atomic.Uint32
	most     uint32
}

const (
	// mostReadings is how many readings there may be in a millisecond before they become
	// rarer. As one takes about a hundred nanoseconds, that is 2.5 % of a processor.
	mostReadings = 256
	// longestInterval bounds how rare they become.
	longestInterval = 256
)

// init takes the length of a tick.
func (c *crowd) init(nanoseconds uint64) {
	c.most = uint32(min(max(1, mostReadings*float64(nanoseconds)/1e6), 1<<30))
}

// read counts a reading in a tick, and returns for how many Gets and Dones it is.
func (c *crowd) read(tick uint64) (interval uint32) {
	interval = c.interval.Load()
	if before := c.tick.Load(); before != tick {
		c.tick.Store(tick)
		if n := c.readings.Swap(0); before+1 != tick {
			interval = 0
		} else if n < c.most/4 {
			interval /= 2
		}
	} else if c.readings.Load() > c.most {
		c.readings.Store(0)
		interval = min(max(1, 2*interval), longestInterval)
	}
	c.readings.Add(1)
	if interval != c.interval.Load() {
		c.interval.Store(interval)
	}
	return interval
}
