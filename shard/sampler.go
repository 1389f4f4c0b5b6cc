package shard

import "sync/atomic"

// Metrics need a finer coarse clock. As long as operations are few, each reads
// the clock. When they are many, one of them reads it, and the others share the
// reading. A reading ends when a shard has had some number of Gets and Dones,
// or when the driver ends the tick. The sampler adapts that number, so that
// there are between sixteen and sixty-four readings in a millisecond.
//
// Adds share first: as long as Gets and Dones are few, those read the clock
// themselves (see refreshForWork).
//
// A shared reading is old. Its age is usually the duration of some Gets and
// Dones. If those stop, it is a tick and the lateness of the timer. Both ends
// of a duration are equally old, so the mean of many durations is right if they
// are long in comparison with the cycle of an item. If they are not, the cycle
// is divided among its parts regardless of their lengths, and counts for the
// part that a reading ends.
//
// The alternative was to time one item out of many, each exactly. It needs a
// mark in the item's entry. The counts would then be estimates, where they are
// exact here, and a few items would give none.

// A sampler decides whether there are too many operations for each to read the
// clock. Its words do not change together. The worst result is one reading
// more, or less.
type sampler struct {
	// interval is the number of Gets and Dones that a shard has for each
	// reading. It is 0 while each operation reads the clock.
	interval atomic.Uint32
	// tick is the tick in which readings are counted. alone and shared are the
	// numbers of readings allowed in one tick.
	tick          atomic.Uint64
	readings      atomic.Uint32
	alone, shared uint32
}

const (
	// mostAlone limits the readings in a millisecond while each operation reads
	// the clock. Beyond that, readings are shared.
	mostAlone = 256
	// mostShared limits the shared readings in a millisecond. Beyond that they
	// become rarer, and below a quarter of it more frequent. It is lower than
	// mostAlone because every processor has to fetch each shared reading.
	mostShared = 64
	// longestInterval limits how rare readings become.
	longestInterval = 1024
)

// init takes the length of a tick.
func (s *sampler) init(nanoseconds uint64) {
	inATick := func(perMillisecond float64) uint32 {
		return uint32(min(max(1, perMillisecond*float64(nanoseconds)/1e6), 1<<30))
	}
	s.alone, s.shared = inATick(mostAlone), inATick(mostShared)
}

// read counts a reading in a tick, and returns the interval of that reading.
func (s *sampler) read(tick uint64) (interval uint32) {
	before := s.interval.Load()
	interval = s.adapt(tick, before)
	s.readings.Add(1)
	if interval != before {
		s.interval.Store(interval)
	}
	return interval
}

// adapt returns the new interval.
func (s *sampler) adapt(tick uint64, interval uint32) uint32 {
	if before := s.tick.Load(); before != tick {
		s.tick.Store(tick)
		switch n := s.readings.Swap(0); {
		case before+1 != tick: // nothing happened for a tick, or the clock was set back
			return 0
		case n < s.shared/4:
			return interval / 2
		}
		return interval
	}
	most := s.shared
	if interval == 0 {
		most = s.alone
	}
	if s.readings.Load() <= most {
		return interval
	}
	s.readings.Store(0)
	return min(max(1, 2*interval), longestInterval)
}
