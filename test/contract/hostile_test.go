package contract

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

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

// Two of the constants of xxHash64. They are variables because their sum
// overflows.
var (
	prime1 uint64 = 11400714785074694791
	prime2 uint64 = 14029467366897019727
)

// collidingKey returns the n-th of many strings that all have one xxhash. Of
// each stripe of 32 bytes the hash takes the first 8 into a lane by
//
//	lane = rotate(lane + word*prime2, 31) * prime1
//
// which can be solved for word: whatever the first stripe did to the lane, the
// word in the second stripe brings it back to a fixed value.
func collidingKey(n uint64) string {
	var key [64]byte
	binary.LittleEndian.PutUint64(key[:], n)
	lane := bits.RotateLeft64(prime1+prime2+n*prime2, 31) * prime1
	word := (0 - lane) * inverse(prime2) // makes lane + word*prime2 zero
	binary.LittleEndian.PutUint64(key[32:], word)
	return string(key[:])
}

// inverse returns the x for which odd*x is 1, by Newton's method.
func inverse(odd uint64) uint64 {
	x := odd
	for range 6 {
		x *= 2 - odd*x
	}
	return x
}

func claimOne(t *testing.T, q *shardq.Queue[int]) worker.Claim[int] {
	claim, ok := q.TryClaim()
	require.True(t, ok)
	require.True(t, claim.Valid())
	return claim
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
	for _, item := range items {
		q.Done(item)
	}
	requireCounts(t, q, 0, 0, 0)
	require.Zero(t, q.Stats().Misused)
	return taken
}

// H9: keys that collide under an unseeded hash do not collide in the queue. Stable
// routing puts them all in one shard, where they make nothing slow.
func TestC18H9CollidingKeys(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		keys := collidingKeys(t, burstSize(shards))
		for _, stable := range []bool{false, true} {
			taken := cycleAll(t, shardq.MustNew(shardq.Options[string]{Shards: shards, StableRouting: stable}), keys)
			require.Equal(t, stable || shards == 1, slices.Equal(keys, taken), "in the order of one shard: stable %t", stable)
		}
	})
}

// No two queues route alike: knowledge of one does not help to attack another.
func TestC18EachQueueHasASeed(t *testing.T) {
	keys := numbers(100)
	a, b := newQueue[int](16), newQueue[int](16)
	require.NotEqual(t, cycleAll(t, a, keys), cycleAll(t, b, keys))
}
