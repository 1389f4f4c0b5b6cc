package ticks

import "sync/atomic"

// Metrics need a finer coarse clock. While operations are few, each reads the
// clock. When they are many, they share a reading, until a shard has had some
// number of Gets and Dones, which the sampler adapts, or the tick ends. Adds
// share first: see refreshForWork.
// Readings at both ends of a duration are equally old, so the mean of many
// durations is right if they are long beside the cycle of an item. If they are
// not, a whole cycle counts for the part of it, in the queue or at work, that
// ends with the reading. To time one item out of many exactly would need a mark
// in its entry, and make the counts estimates.

// A Sampler decides which operations read the clock. Its words need not change
// together, because one reading more or less does no harm.
type Sampler struct {
	Interval      atomic.Uint32 // Gets and Dones of a shard for each reading; 0 while readings are not shared
	tick          atomic.Uint64 // in which readings are counted; alone and shared are allowed in one tick
	readings      atomic.Uint32
	alone, shared uint32
}

const (
	mostAlone = 256 // readings in a millisecond, before they are shared
	// With more readings in a millisecond than mostShared, they become rarer,
	// and below a quarter more frequent. Every processor fetches each shared
	// reading.
	mostShared      = 64
	longestInterval = 1024
)

func (s *Sampler) Init(nanoseconds uint64) {
	inATick := func(perMillisecond float64) uint32 {
		return uint32(min(max(1, perMillisecond*float64(nanoseconds)/1e6), 1<<30))
	}
	s.alone, s.shared = inATick(mostAlone), inATick(mostShared)
}

func (s *Sampler) Read(tick uint64) (interval uint32) {
	before := s.Interval.Load()
	interval = s.adapt(tick, before)
	s.readings.Add(1)
	if interval != before {
		s.Interval.Store(interval)
	}
	return interval
}

func (s *Sampler) adapt(tick uint64, interval uint32) uint32 {
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
