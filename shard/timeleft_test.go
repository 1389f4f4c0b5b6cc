package shard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/stats"
)

// left returns the buckets of the times left as a map, and checks that they
// agree with Count.
func left(t *testing.T, s *Set[int]) map[time.Duration]uint64 {
	h, buckets, n := s.Core.TimeLeft(), map[time.Duration]uint64{}, uint64(0)
	for bound, count := range h.Buckets() {
		buckets[bound] = count
		n += count
	}
	require.Equal(t, h.Count, n)
	return buckets
}

// bucketOf returns the upper bound of the bucket of a duration.
func bucketOf(d time.Duration) time.Duration {
	var one stats.Sample
	var h stats.Histogram
	one.Add(d)
	one.AddTo(&h, 1)
	return h.Quantile(1)
}

// TestTimeLeft: each delay that is running counts once, by its time left,
// whatever else the item does.
func TestTimeLeft(t *testing.T) {
	fake := clock.NewFake(start)
	s := newTestSet(t, Config[int]{Settings: Settings{Shards: 4, Clock: fake}})
	require.Empty(t, left(t, s))
	s.Add(100)
	require.Empty(t, left(t, s), "nothing has a delay")

	s.AddAfter(1, time.Second)
	s.AddAfter(2, 10*time.Second)
	s.AddAfter(3, 100*time.Second)
	s.AddAfter(3, 1000*time.Second) // later than what it has
	s.AddAfter(100, 10*time.Second) // ready as well
	s.AddAfter(4, time.Minute)
	s.Cancel(4)
	require.Equal(t, map[time.Duration]uint64{time.Second: 1, 10 * time.Second: 2, 100 * time.Second: 1}, left(t, s))
	require.Equal(t, 121*time.Second, s.Core.TimeLeft().Sum)

	fake.Step(9 * time.Second)
	require.Equal(t, map[time.Duration]uint64{time.Second: 2, bucketOf(91 * time.Second): 1}, left(t, s))
	s.Core.ShutDown()
	require.Empty(t, left(t, s))
}

// TestTimeLeftOfVeryMany: where a part is scaled to all, the number and the
// distribution are those of all, and no more is inspected than documented.
func TestTimeLeftOfVeryMany(t *testing.T) {
	const items = 300_000
	s := newTestSet(t, Config[int]{})
	for item := range items {
		delay := 10 * time.Second
		switch {
		case item%10 == 0:
			delay = 1000 * time.Second
		case item >= items/2: // these are in chunks of their own
			delay = 100 * time.Second
		}
		s.AddAfter(item, delay)
	}
	want := map[time.Duration]float64{10 * time.Second: 0.45, 100 * time.Second: 0.45, 1000 * time.Second: 0.1}
	for range 10 { // the chunks are chosen at random
		got := left(t, s)
		require.Len(t, got, len(want))
		together := uint64(0)
		for bound, part := range want {
			require.InDelta(t, part, float64(got[bound])/items, 0.01)
			together += got[bound]
		}
		require.EqualValues(t, items, together)
		require.InEpsilon(t, (0.45*10+0.45*100+0.1*1000)*items, s.Core.TimeLeft().Sum.Seconds(), 0.02)
	}
	visited := 0
	s.Core.probe = func(n int) { visited += n }
	require.EqualValues(t, items, s.Core.TimeLeft().Count)
	require.InEpsilon(t, mostInspected, visited, 0.1)
}
