package contract

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

func TestC5OneShardIsStrictlyFIFO(t *testing.T) {
	q := newQueue[int](1)
	for _, item := range numbers(5000) {
		q.Add(item)
	}
	require.Equal(t, numbers(5000), takeAll(t, q))
}

// The order is that of becoming ready, whatever is added and done in between.
func TestC5OneShardIsStrictlyFIFOWhileItIsUsed(t *testing.T) {
	q := newQueue[int](1)
	added, taken := 0, 0
	for taken < 5000 {
		for range 3 {
			q.Add(added)
			added++
		}
		for range 2 {
			takeItem(t, q, taken)
			q.Done(taken)
			taken++
		}
	}
}

func TestC5DirtyItemJoinsTheTailAtDone(t *testing.T) {
	q := newQueue[string](1)
	q.Add("dirty")
	takeItem(t, q, "dirty")
	q.Add("dirty")
	q.Add("before")
	q.Done("dirty")
	q.Add("after")
	require.Equal(t, []string{"before", "dirty", "after"}, takeAll(t, q))
}

func TestC5DelayedItemJoinsTheTailWhenItsDelayExpires(t *testing.T) {
	fake := newFake()
	q := shardq.MustNew(shardq.Options[string]{Shards: 1, Clock: fake})
	q.AddAfter("delayed", time.Second)
	q.Add("before")
	fake.Step(time.Second)
	q.Add("after")
	require.Equal(t, []string{"before", "delayed", "after"}, takeAll(t, q))
}

// Items of one Hash share a shard, and so keep their order among themselves.
func TestC5EachShardIsFIFO(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		const groups = 10
		q := shardq.MustNew(shardq.Options[int]{
			Shards: shards,
			Hash:   func(item int) uint64 { return uint64(item % groups) },
		})
		for _, item := range numbers(1000) {
			q.Add(item)
		}
		last := [groups]int{}
		for g := range last {
			last[g] = -1
		}
		for _, item := range takeAll(t, q) {
			require.Greater(t, item, last[item%groups], "overtaken in its own shard")
			last[item%groups] = item
		}
	})
}

// servedWithin limits the number of Gets until the item at place p of its shard
// is handed out. Shards have turns of 8 items one after the other, and
// consumers visit them from 4 places. The limit shows that every item is handed
// out, however full the other shards stay.
func servedWithin(place, shards int) int { return 4 * shards * (place + 2*8) }

func TestC5EveryItemIsServedWithinTheBound(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		for group := range 40 {
			testBound(t, shards, group)
		}
	})
}

// testBound adds items of one group, then many of all the others, which are
// added again as soon as they are handed out.
func testBound(t *testing.T, shards, group int) {
	const groups, places = 40, 20
	q := shardq.MustNew(shardq.Options[int]{
		Shards: shards,
		Hash:   func(item int) uint64 { return uint64(item % groups) },
	})
	for range group { // start at another place each time
		requireCycle(t, q, group)
	}
	for place := range places {
		q.Add(group + place*groups)
	}
	for item := range groups * 20 {
		if item%groups != group {
			q.Add(item)
		}
	}
	served := 0
	for gets := 1; served < places; gets++ {
		require.LessOrEqual(t, gets, servedWithin(served+1, shards), "group %d, place %d", group, served+1)
		item := take(t, q)
		q.Done(item)
		if item%groups == group {
			served++
		} else {
			q.Add(item)
		}
	}
}

// With several consumers, each producer adds its key again only after the key
// was handed out, while a few hot keys never leave the queue.
func TestC5NobodyStarvesBesideManyConsumers(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		const rare, hot, rounds = 8, 40, 50
		q := newQueue[int](shards)
		var rest atomic.Int64
		rest.Store(rare * rounds)
		var workers sync.WaitGroup
		for range 4 {
			workers.Go(func() {
				for rest.Load() > 0 {
					item, _ := q.Get()
					if item >= rare || rest.Add(-1) >= rare {
						q.Add(item)
					}
					q.Done(item)
				}
			})
		}
		addAll(q, numbers(rare+hot))
		workers.Wait() // blocks forever if a rare key is never handed out
	})
}
