package shard

import (
	"math/rand/v2"

	"github.com/shardq/shardq/stats"
)

// mostInspected is about the number of timers of a shard that TimeLeft
// inspects.
const mostInspected = 1 << 16

// TimeLeft returns the times left of the delays that are running, to the tick.
// Of a shard with very many it inspects a sample, and scales the result.
func (s *Set[T]) TimeLeft() (h stats.Histogram) {
	var sample stats.Sample
	for sh := range s.made() {
		now := s.time.nanoseconds()
		delayed := s.inspectDeadlines(sh, func(tick uint64) { sample.Add(s.time.left(now, tick)) })
		sample.AddTo(&h, delayed)
		sample.Reset()
	}
	return h
}

// inspectDeadlines inspects delayed items, and returns the number of all. If
// there are too many, it divides the chunks into runs of neighbors, and
// inspects one chunk of each run, chosen at random. Chunks at even distances
// might all be of one burst, or none of it. Chunks chosen from all together
// might favor one half.
func (s *Set[T]) inspectDeadlines(sh *shard[T], add func(tick uint64)) (delayed int) {
	chunks, ticks := 0, []uint64{}
	s.withLock(sh, func() (visited int, more bool) {
		if sh.wheel != nil {
			chunks, delayed = sh.wheel.Chunks(), sh.wheel.Len()
		}
		return 0, false
	})
	width := max(1, float64(delayed)/mostInspected)
	for begin := 0.0; begin < float64(chunks); begin += width {
		s.withLock(sh, func() (visited int, more bool) {
			if ticks = ticks[:0]; sh.wheel != nil {
				ticks = sh.wheel.Deadlines(int(begin+width*rand.Float64()), ticks)
			}
			return len(ticks), false
		})
		for _, tick := range ticks {
			add(tick)
		}
	}
	return delayed
}
