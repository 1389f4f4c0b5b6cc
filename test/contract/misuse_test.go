package contract

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

func TestC15H2DoneWithoutGet(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		q := shardq.MustNew(shardq.Options[string]{Shards: shards, Clock: fake})
		q.Done("unknown")
		require.EqualValues(t, 1, q.Stats().Misused)
		requireCounts(t, q, 0, 0, 0)

		q.Add("ready")
		q.Done("ready")
		require.EqualValues(t, 2, q.Stats().Misused)
		requireCounts(t, q, 1, 0, 0)
		takeItem(t, q, "ready")
		q.Done("ready")

		q.AddAfter("delayed", time.Second)
		q.Done("delayed")
		require.EqualValues(t, 3, q.Stats().Misused)
		requireCounts(t, q, 0, 1, 0)
		fake.Step(time.Second)
		takeItem(t, q, "delayed")
		q.Done("delayed")
		requireCounts(t, q, 0, 0, 0)
	})
}

func TestC15H1SecondDone(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		q.Add("a")
		takeItem(t, q, "a")
		q.Done("a")
		q.Done("a")
		require.EqualValues(t, 1, q.Stats().Misused)
		requireCounts(t, q, 0, 0, 0)
		requireCycle(t, q, "a")
	})
}

// client-go queues the item twice here, and two workers get it.
func TestC15H1SecondDoneOfDirtyItem(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		q.Add("a")
		takeItem(t, q, "a")
		q.Add("a")
		q.Done("a")
		for range 3 {
			q.Done("a")
			requireCounts(t, q, 1, 0, 0)
		}
		require.EqualValues(t, 3, q.Stats().Misused)

		takeItem(t, q, "a")
		require.Zero(t, q.Len(), "a second worker would get it")
		q.Done("a")
		requireCounts(t, q, 0, 0, 0)
	})
}

// An item keeps its place when a stray Done names it.
func TestC15StrayDoneLeavesTheOrder(t *testing.T) {
	q := newQueue[string](1)
	for _, item := range []string{"a", "b", "c"} {
		q.Add(item)
	}
	for _, item := range []string{"b", "c", "a", "b"} {
		q.Done(item)
	}
	require.Equal(t, []string{"a", "b", "c"}, finishAll(t, q))
}

func TestC15SecondDoneDuringDrain(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		q.Add("a")
		q.Add("b")
		held := takeAll(t, q)
		drained := returned(q.ShutDownWithDrain)
		q.Done(held[0])
		q.Done(held[0])
		q.Done(held[0])
		requireStillFalse(t, drained, "another item is in processing")
		q.Done(held[1])
		requireBecomesTrue(t, drained)
		q.Done(held[1])
		require.EqualValues(t, 3, q.Stats().Misused)
	})
}

func TestOnMisuseReportsStrayDones(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		var reported []shardq.Misuse[string]
		q := shardq.MustNew(shardq.Options[string]{
			Name: "orders", Shards: shards,
			OnMisuse: func(m shardq.Misuse[string]) { reported = append(reported, m) },
		})
		requireCycle(t, q, "a")
		require.Empty(t, reported, "good use was reported")

		q.Done("a")
		q.Done("b")
		require.Equal(t, []shardq.Misuse[string]{
			{Queue: "orders", Kind: shardq.DoneWithoutGet, Item: "a"},
			{Queue: "orders", Kind: shardq.DoneWithoutGet, Item: "b"},
		}, reported)
	})
}

// Many stray Dones at once: each is counted and reported once.
func TestC15MisuseIsCountedOnce(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		var mu sync.Mutex
		reported := 0
		q := shardq.MustNew(shardq.Options[int]{Shards: shards, OnMisuse: func(shardq.Misuse[int]) {
			mu.Lock()
			defer mu.Unlock()
			reported++
		}})
		items := numbers(100)
		addAll(q, items)
		takeAll(t, q)
		together(8, func(int) { doneAll(q, items) })
		require.Equal(t, 700, reported)
		require.EqualValues(t, 700, q.Stats().Misused)
		requireCounts(t, q, 0, 0, 0)
	})
}

func TestMisuseKindString(t *testing.T) {
	require.Equal(t, "Done without Get", shardq.DoneWithoutGet.String())
	require.Equal(t, "item not equal to itself", shardq.ItemNotEqualToItself.String())
	require.Equal(t, "Misuse(77)", stats.MisuseKind(77).String())
}
