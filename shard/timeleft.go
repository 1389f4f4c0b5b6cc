package shard

import (
	"math/rand/v2"

	"github.com/shardq/shardq/stats"
)

const mostInspected = 1 << 16

// TimeLeft returns the times left of the running delays, to the tick.
func (s *Core) TimeLeft() (h stats.Histogram) {
	var sample stats.Sample
	for sh := range s.shards.made() {
		now := s.time.Nanoseconds()
		delayed := sh.inspectDeadlines(func(tick uint64) { sample.Add(s.time.Left(now, tick)) })
		sample.AddTo(&h, delayed)
		sample.Reset()
	}
	return h
}

// inspectDeadlines returns the number of delayed items. If these are too many,
// it divides the chunks into runs of neighbors, and inspects a random chunk of
// each. Chunks at even distances might all belong to bursts, and chunks drawn
// from all might lie mostly in one half.
func (sh *shard) inspectDeadlines(add func(tick uint64)) (delayed int) {
	chunks, ticks := 0, []uint64{}
	sh.withLock(func() (visited int, more bool) {
		if sh.wheel != nil {
			chunks, delayed = sh.wheel.Chunks(), sh.wheel.Len()
		}
		return 0, false
	})
	width := max(1, float64(delayed)/mostInspected)
	for begin := 0.0; begin < float64(chunks); begin += width {
		sh.withLock(func() (visited int, more bool) {
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
