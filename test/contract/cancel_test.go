package contract

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

func TestC39CancelTakesBackWhatHasNotBegun(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := newQueueOn[string](shards, fakeTimeline())
		require.Equal(t, shardq.Canceled{}, q.Cancel("a"), "there is nothing")

		q.Add("a")
		q.AddAfter("a", time.Hour)
		require.Equal(t, shardq.Canceled{Ready: true, Delayed: true}, q.Cancel("a"))
		requireCounts(t, q, 0, 0, 0)

		q.AddAfter("a", time.Hour)
		require.Equal(t, shardq.Canceled{Delayed: true}, q.Cancel("a"))
		requireCounts(t, q, 0, 0, 0)
		require.EqualValues(t, 2, q.Stats().Canceled)
	})
}

// A processing goes on, but no other run follows it.
func TestC39CancelDuringProcessing(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := newQueueOn[string](shards, fakeTimeline())
		q.Add("a")
		take(t, q)
		require.Equal(t, shardq.Canceled{}, q.Cancel("a"))
		q.Add("a")
		q.AddAfter("a", time.Hour)
		require.Equal(t, shardq.Canceled{Dirty: true, Delayed: true}, q.Cancel("a"))
		requireCounts(t, q, 0, 0, 1)
		q.Done("a")
		requireCounts(t, q, 0, 0, 0)
		require.Zero(t, q.Stats().Misused)
	})
}

func TestC39AddAfterCancel(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		q.Add("a")
		take(t, q)
		q.Add("a")
		q.Cancel("a")
		q.Add("a")
		q.Done("a")
		require.Equal(t, "a", take(t, q), "the Add after the Cancel asks for a run")
	})
}

// The others of the shard keep their order.
func TestC39CancelKeepsTheOrderOfTheOthers(t *testing.T) {
	for pair := range 25 { // including two neighbors, and one item twice
		first, second := pair/5, pair%5
		q := newQueue[int](1)
		q.AddBatch([]int{0, 1, 2, 3, 4}, shardq.AddOptions{})
		q.Cancel(first)
		q.Cancel(second)
		q.Add(5)
		q.Add(first)
		for want := range 6 {
			if want != first && want != second {
				require.Equal(t, want, take(t, q))
			}
		}
		require.Equal(t, first, take(t, q))
		require.Zero(t, q.Len())
	}
}

// A drain does not wait for canceled items.
func TestC39CancelEndsADrain(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		q.Add("a")
		q.Add("b")
		drained := returned(q.ShutDownWithDrain)
		q.Cancel("a")
		requireStillFalse(t, drained, "one is ready")
		require.True(t, q.Cancel("b").Any())
		requireBecomesTrue(t, drained)
	})
}
