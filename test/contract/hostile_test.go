package contract

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// TestC60LargeItems checks that a batch of large items is claimed without a
// buffer for them.
func TestC60LargeItems(t *testing.T) {
	type large [4096]byte
	q := shardq.MustNew(shardq.Options[large]{Shards: 1})
	var items [3]large
	for i := range items {
		items[i][0] = byte(i)
	}
	claims := make([]worker.Claim[large], 2)
	cycle := func() {
		q.AddBatch(items[:])
		for left := 3; left > 0; {
			n, err := q.ClaimBatch(t.Context(), claims)
			if err != nil || n != min(2, left) || claims[0].Item[0] != byte(3-left) || !claims[n-1].Valid() {
				t.Fatalf("%d claims, %v, with %d left", n, err, left)
			}
			if err := q.DoneClaims(claims[:n]); err != nil {
				t.Fatal(err)
			}
			left -= n
		}
	}
	cycle()
	if allocations := testing.AllocsPerRun(50, cycle); allocations > 0 && !raceDetector {
		t.Errorf("%v allocations", allocations)
	}
}

// TestC60ForgedTokens checks that a token that the queue has not made names
// nothing.
func TestC60ForgedTokens(t *testing.T) {
	q := shardq.MustNew(shardq.Options[int]{Shards: 2})
	q.Add(1)
	claim := claimOne(t, q)
	token := claim.Token()
	for _, id := range []uint64{40<<32 | 1, 1<<48 | token.ID, 1<<63 | token.ID, token.ID ^ 1} {
		forged := worker.NewClaim(1, 0, claim.Owner(), worker.Token{ID: id, Fence: token.Fence})
		require.ErrorIs(t, forged.Done(), worker.ErrClaimEnded, "%x", id)
		require.False(t, forged.Valid())
	}
	require.PanicsWithValue(t, "worker: Return.Reason is 77: want ReturnRetry, ReturnRequeue or ReturnRelease",
		func() { _ = claim.Return(worker.Return{Reason: 77}) })
	require.True(t, claim.Valid())
	require.NoError(t, claim.Done())
}

func claimOne(t *testing.T, q *shardq.Queue[int]) worker.Claim[int] {
	t.Helper()
	claim, ok := q.TryClaim()
	require.True(t, ok)
	require.True(t, claim.Valid())
	return claim
}

func TestH8MegabyteKeys(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		requireMemoryReturns(t, shardq.Options[string]{Shards: shards, Clock: fake}, func(q *shardq.Queue[string]) {
			items := make([]string, 20)
			for i := range items { // that differ in their last byte, or their length
				items[i] = strings.Repeat("k", 1<<20+i/10) + string(rune('a'+i%10))
			}
			addAll(q, items)
			addAll(q, items)
			requireExactly(t, items, takeAll(t, q))
			for _, item := range items {
				q.AddAfter(strings.Clone(item), time.Second)
				q.Done(strings.Clone(item))
			}
			fake.Step(time.Minute)
			requireExactly(t, items, finishAll(t, q))
		})
	})
}

func collidingKeys(t *testing.T, n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = collidingKey(uint64(i))
		require.True(t, xxhash.Sum64String(keys[i]) == xxhash.Sum64String(keys[0]), "no collision")
	}
	return keys
}

// cycleAll adds all items, adds them again, takes them and ends them. Each step
// looks up each item. If a lookup took as long as there are items of one hash,
// they would take an hour, which exceeds the time limit of go test.
func cycleAll[T comparable](t *testing.T, q *shardq.Queue[T], items []T) (taken []T) {
	addAll(q, items)
	addAll(q, items)
	require.Equal(t, len(items), q.Len())
	for range items {
		item, _ := q.Get()
		taken = append(taken, item)
	}
	doneAll(q, items)
	requireCounts(t, q, 0, 0, 0)
	require.Zero(t, q.Stats().Misused)
	return taken
}

// H9: keys that collide under an unseeded hash do not collide in the queue.
func TestC18H9CollidingKeys(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		keys := collidingKeys(t, burstSize(shards))
		taken := cycleAll(t, newQueue[string](shards), keys)
		requireSpread(t, shards, keys, taken)
	})
}

// Stable routing puts them all in one shard, where they make nothing slow.
func TestC18H9CollidingKeysWithStableRouting(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		keys := collidingKeys(t, burstSize(shards))
		q := shardq.MustNew(shardq.Options[string]{Shards: shards, StableRouting: true})
		taken := cycleAll(t, q, keys)
		require.True(t, equal(keys, taken), "not the order of one shard: the keys are not as bad as they should be")
	})
}

// Nor does a Hash that returns one value for all items.
func TestC18H9ConstantHash(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := shardq.MustNew(shardq.Options[int]{Shards: shards, Hash: func(int) uint64 { return 42 }})
		keys := numbers(burstSize(shards))
		require.True(t, equal(keys, cycleAll(t, q, keys)), "not the order of one shard")
	})
}

func equal[T comparable](a, b []T) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

// A call that takes an item calls Hash once, so that a slow one costs no more
// than necessary.
func TestC18HashIsCalledOnce(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		calls := 0
		fake := newFake()
		q := shardq.MustNew(shardq.Options[int]{Shards: shards, Clock: fake, Hash: func(int) uint64 { calls++; return 0 }})
		for item := range 1000 {
			q.Add(item)
			q.AddAfter(item, time.Second)
		}
		require.Equal(t, 2000, calls)
		takeAll(t, q)
		require.Equal(t, 2000, calls)
		doneAll(q, numbers(1000))
		require.Equal(t, 3000, calls)
		fake.Step(time.Hour)
		require.Equal(t, 3000, calls)
		q.ShutDown()
		require.Equal(t, 3000, calls)
	})
}

// requireSpread concludes from the order of the Gets that the keys were spread
// over the shards. If the spread is even, the n-th key is at about place
// n/shards of its shard. By the bound of C5, about the n-th Get hands it out.
// If one shard had more keys than others, its last keys would be handed out far
// later. If all keys were in one shard, they would be handed out in the exact
// order of their adds.
func requireSpread[T comparable](t *testing.T, shards int, keys, taken []T) {
	t.Helper()
	if shards == 1 {
		return
	}
	require.False(t, equal(keys, taken), "all in one shard")
	place := make(map[T]int, len(keys))
	for n, key := range keys {
		place[key] = n
	}
	latest := 0
	for n, key := range taken {
		latest = max(latest, n-place[key])
	}
	// Ten standard deviations of a shard's share, times shards.
	require.Less(t, latest*latest, 100*len(keys)*shards, "a key was handed out %d Gets late", latest)
}

// No two queues route alike: knowledge of one does not help to attack another.
func TestC18EachQueueHasASeed(t *testing.T) {
	keys := numbers(100)
	a, b := newQueue[int](16), newQueue[int](16)
	require.NotEqual(t, cycleAll(t, a, keys), cycleAll(t, b, keys))
}

// H10: one key gets nearly all the traffic, and its worker never finishes.
func TestH10AllTrafficOnOneKey(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		const hot, others = -1, 500
		q := newQueue[int](shards)
		q.Add(hot)
		takeItem(t, q, hot)

		var served atomic.Int32
		var workers, producers sync.WaitGroup
		for range 3 {
			workers.Go(func() {
				for {
					item, shutdown := q.Get()
					if shutdown {
						return
					}
					served.Add(1)
					q.Done(item)
				}
			})
		}
		for range 4 {
			producers.Go(func() {
				for range scaled(100_000, 20_000) {
					q.Add(hot)
				}
			})
		}
		addAll(q, numbers(others))
		producers.Wait()
		synctest.Wait()
		require.EqualValues(t, others, served.Load(), "and none of the hot key's")
		requireCounts(t, q, 0, 0, 1)

		q.Done(hot)
		synctest.Wait()
		require.EqualValues(t, others+1, served.Load())
		q.ShutDown()
		workers.Wait()
	})
}
