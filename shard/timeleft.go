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
		t := timesLeft{base: &s.time, now: s.time.nanoseconds(), sample: &sample}
		sample.AddTo(&h, s.inspectDeadlines(sh, &t))
		sample.Reset()
	}
	return h
}

// inspectDeadlines inspects delayed items, and returns the number of all. If
// there are too many, it divides the chunks into runs of neighbors, and
// inspects one chunk of each run, chosen at random. Chunks at even distances
// might all be of one burst, or none of it. Chunks chosen from all together
// might favor one half.
func (s *Set[T]) inspectDeadlines(sh *shard[T], t *timesLeft) (delayed int) {
	chunks, delayed := s.wheelChunks(sh)
	width := max(1, float64(delayed)/mostInspected)
	var ticks []uint64
	for begin := 0.0; begin < float64(chunks); begin += width {
		ticks = s.deadlinesOf(sh, int(begin+width*rand.Float64()), ticks[:0])
		t.add(ticks)
	}
	return delayed
}

func (s *Set[T]) wheelChunks(sh *shard[T]) (chunks, delayed int) {
	s.withLock(sh, func() (visited int, more bool) {
		if sh.wheel != nil {
			chunks, delayed = sh.wheel.Chunks(), sh.wheel.Len()
		}
		return 0, false
	})
	return chunks, delayed
}

func (s *Set[T]) deadlinesOf(sh *shard[T], chunk int, ticks []uint64) []uint64 {
	s.withLock(sh, func() (visited int, more bool) {
		if sh.wheel != nil {
			ticks = sh.wheel.Deadlines(chunk, ticks)
		}
		return len(ticks), false
	})
	return ticks
}

type timesLeft struct {
	base   *timebase
	now    uint64
	sample *stats.Sample
}

func (t *timesLeft) add(ticks []uint64) {
	for _, tick := range ticks {
		t.sample.Add(t.base.left(t.now, tick))
	}
}
