package shard

import (
	"testing"
	"time"

	"github.com/shardq/shardq/clock"
)

// TestDurationsAmongDeduplicatedAdds: where nearly all operations are adds, and
// a Get and a Done come now and then, the means of their durations are right to
// a tenth. The tenth is of the longer duration, or of some adds.
func TestDurationsAmongDeduplicatedAdds(t *testing.T) {
	for _, test := range []struct {
		every, work, between time.Duration
		unlike               bool // no add is deduplicated
	}{
		{100, 100 * time.Microsecond, 100, false},
		{1000, 100 * time.Microsecond, 1000, true},
		{1000, 100 * time.Microsecond, 300 * time.Microsecond, true},
		{1000, 100 * time.Microsecond, 1000, false},
		{100, 100 * time.Microsecond, 300 * time.Microsecond, false},
		{500, 300 * time.Microsecond, 500, false},
		{1000, 500 * time.Microsecond, 500 * time.Microsecond, false},
		{100, 10 * time.Microsecond, 10 * time.Microsecond, false},
	} {
		fake := clock.NewFake(start)
		s := newTestSet(t, Config[int]{Shards: 4, Clock: fake, Ages: true, Metrics: true})
		const first = 8
		keys, next := first, 0
		if test.unlike {
			keys = 1 << 30
		}
		pass := func(d time.Duration) {
			for ; d > 0; d -= test.every {
				fake.Step(test.every)
				s.Add(next % keys)
				next++
			}
		}
		for range first {
			s.Add(next % keys)
			next++
		}
		const rounds = 1000
		for range rounds {
			item, _ := s.Get()
			pass(test.work)
			s.Done(item)
			pass(test.between)
		}
		mean := s.Stats().Metrics.WorkDuration.Mean()
		if off := (mean - test.work).Abs(); off > max(test.work, test.between)/10 {
			t.Errorf("%+v: the mean is %v", test, mean)
		}
	}
}
