package contract

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// TestC33SevenSeries makes one call of each kind, on a clock that stands still
// in between.
func TestC33SevenSeries(t *testing.T) {
	for _, shards := range []int{1, 32} {
		fake := newFake()
		q := shardq.MustNew(shardq.Options[string]{Shards: shards, Clock: fake, Metrics: true})
		metrics := func() *stats.Metrics { return q.Stats().Metrics }

		q.Add("a")
		q.Add("a") // deduplicated
		fake.Step(30 * time.Microsecond)
		item, _ := q.Get()
		require.Equal(t, "a", item)
		require.Equal(t, 30*time.Microsecond, metrics().QueueDuration.Sum)
		require.EqualValues(t, 1, metrics().QueueDuration.Count)
		require.Equal(t, 0, metrics().Depth)

		fake.Step(time.Second)
		q.Add("a") // dirty
		q.Add("a")
		require.Equal(t, 1, metrics().Depth)
		require.Equal(t, 1, metrics().Dirty)
		require.EqualValues(t, 2, q.Stats().Added)
		fake.Step(time.Second)
		require.Equal(t, 2*time.Second, metrics().Unfinished)
		require.Equal(t, 2*time.Second, metrics().LongestRunning)
		q.Done("a")
		require.Equal(t, 2*time.Second, metrics().WorkDuration.Sum)
		require.Zero(t, metrics().Unfinished)
		require.Equal(t, 0, metrics().Dirty)
		require.Equal(t, 1, metrics().Depth)
		fake.Step(time.Second)
		_, _ = q.Get()
		require.Equal(t, 2*time.Second+30*time.Microsecond, metrics().QueueDuration.Sum, "from its Add, not from its Done")

		q.AddAfter("b", time.Minute)
		q.AddAfter("b", 0)
		q.AddAfter("b", -1)
		require.EqualValues(t, 3, metrics().Retries)
		require.EqualValues(t, 1, metrics().Delay.Count)
		require.Equal(t, time.Minute, metrics().Delay.Sum)
		q.AddRateLimited("b")
		require.EqualValues(t, 4, metrics().Retries)
		require.EqualValues(t, 1, metrics().Backoffs)

		fake.Step(time.Second)
		q.ShutDown()
		q.AddAfter("c", 0)
		q.Add("c")
		fake.Step(time.Second)
		require.EqualValues(t, 4, metrics().Retries)
		require.Equal(t, time.Second, metrics().LongestRunning, "as it was when the shutdown began")
	}
}
