package contract

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// TestC47FloodDelaysOthersByABoundedNumber: a tenant has very many items, and
// goes on adding.
func TestC47FloodDelaysOthersByABoundedNumber(t *testing.T) {
	flood := scaled(1_000_000, 50_000)
	for _, shards := range []int{1, 2, 32} {
		for _, tenants := range []int{1, 10, 100} {
			t.Run(fmt.Sprintf("shards=%d,tenants=%d", shards, tenants), func(t *testing.T) {
				q := shardq.MustNew(shardq.Options[int]{Shards: shards, Group: func(item int) string {
					if item >= 0 {
						return "flood"
					}
					return fmt.Sprint("tenant ", -item)
				}})
				for i := range flood {
					q.Add(i)
				}
				bound := tenants + 1 // one shard: the total weight of all groups
				if shards > 1 {
					bound *= 8
				}
				for round := range 5 {
					for i := range tenants {
						q.Add(-1 - i)
					}
					left := tenants
					for gets := 1; left > 0; gets++ {
						require.LessOrEqual(t, gets, bound, "in round %d, %d tenants wait", round, left)
						// From many stacks, because consumers visit the shards
						// from several places.
						var item int
						fromElsewhere(round*gets, func() { item, _ = q.Get() })
						if item < 0 {
							left--
						}
						q.Done(item)
					}
				}
			})
		}
	}
}

// servedWithin limits the number of Gets until the item at place p of its shard
// is handed out. Shards have turns of 8 items one after the other, and
// consumers visit them from 4 places. The limit shows that every item is handed
// out, however full the other shards stay.
func servedWithin(place, shards int) int { return 4 * shards * (place + 2*8) }

// TestC47RoundRobinAfterGroupsAreGone: a shard had a group of a great weight,
// which is gone. No other group gets the rest of its turn.
func TestC47RoundRobinAfterGroupsAreGone(t *testing.T) {
	weights := map[string]int{}
	q := shardq.MustNew(shardq.Options[string]{
		Shards: 2, Group: tenant, GroupPolicy: func(group string) shardq.GroupPolicy { return shardq.GroupPolicy{Weight: weights[group]} },
	})
	in := map[int][]string{}
	for i := range 30 {
		q.Add(fmt.Sprintf("%d/0", i))
	}
	for group := range q.Groups() {
		in[group.Shard] = append(in[group.Shard], group.Group)
	}
	handedOut(q)
	for home := range 2 {
		heavy, flood, other := in[home][0], in[home][1], in[1-home][0]
		weights[heavy] = 5000
		q.AddBatch(ofTenant(heavy, 50), shardq.AddOptions{}) // at least one round, so that the next one counts them
		handedOut(q)
		q.AddBatch(ofTenant(flood, 100), shardq.AddOptions{})
		for range 3 { // because the first may find the consumer in its shard
			q.Add(other + "/0")
			for gets := 1; ; gets++ {
				require.LessOrEqual(t, gets, 8*2)
				item, _ := q.Get()
				q.Done(item)
				if tenant(item) == other {
					break
				}
			}
		}
		handedOut(q)
	}
}

// fromElsewhere runs f with its frame further down the stack.
func fromElsewhere(depth int, f func()) {
	var room [1024]byte
	if depth%8 == 0 {
		f()
		return
	}
	fromElsewhere(depth%8-1, f)
	room[depth%len(room)]++
}

// TestC47GroupsAreServedAlike checks that in the long run each group gets the
// same share, also if a shard has many groups and another one few.
func TestC47GroupsAreServedAlike(t *testing.T) {
	const groups, shards, gets = 100, 8, 50_000
	q := shardq.MustNew(shardq.Options[int]{Shards: shards, Group: func(item int) string { return fmt.Sprint(item % groups) }})
	for g := range groups {
		for i := range 3 {
			q.Add(g + i*groups)
		}
	}
	served := map[int]int{}
	for range gets {
		item, _ := q.Get()
		served[item%groups]++
		q.Add(item) // so that all groups always have ready items
		q.Done(item)
	}
	counts := slices.Sorted(maps.Values(served))
	require.Len(t, counts, groups)
	require.LessOrEqual(t, counts[groups-1]-counts[0], 4, "the most and the least that a group got: %v", counts)
}

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

// handedOut gets all ready items, and calls Done of each.
func handedOut[T comparable](q *shardq.Queue[T]) (items []T) {
	for q.Len() > 0 {
		item, _ := q.Get()
		items = append(items, item)
		q.Done(item)
	}
	return items
}

// What a drain leaves in processing comes from all shards, the longest first.
func TestC12LongestProcessingFirst(t *testing.T) {
	fake := newFake()
	q := shardq.MustNew(shardq.Options[string]{Shards: 16, Ages: true, Clock: fake})
	var want, got []string
	for i := range 20 {
		want = append(want, fmt.Sprint(i))
		q.Add(want[i])
		takeItem(t, q, want[i])
		fake.Step(time.Second)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := q.Drain(ctx, shardq.DrainOptions{})
	left, _ := errors.AsType[*shardq.DrainError[string]](err)
	require.NotNil(t, left)
	require.Same(t, &left.Left()[0], &left.Left()[0], "no copies")
	for _, item := range left.Left() {
		got = append(got, item.Item)
	}
	require.Equal(t, want, got)
}

// A batch sorts its items into 64 buckets, which more shards than that share.
func TestC37BatchesOverManyShards(t *testing.T) {
	q := shardq.MustNew(shardq.Options[int]{Shards: 200})
	q.AddBatch(numbers(1000), shardq.AddOptions{})
	require.Equal(t, 1000, q.Len())
	claims := make([]worker.Claim[int], 1000)
	n, err := q.ClaimBatch(t.Context(), claims)
	for total := n; total < 1000 && err == nil; total += n {
		n, err = q.ClaimBatch(t.Context(), claims[total:])
	}
	require.NoError(t, err)
	require.NoError(t, q.DoneClaims(claims))
	require.Zero(t, q.Stats().Held)
}

// The first item of a low priority is served, although its shard never ran out of
// items of priority 0 before it came, nor does after.
func TestC46FirstLowPriority(t *testing.T) {
	for _, shards := range []int{1, 2, 5} {
		q := shardq.MustNew(shardq.Options[int]{
			Shards: shards, LowPriorityInterval: 3, Hash: func(item int) uint64 { return uint64(item) << 60 },
		})
		for item := range 16 {
			q.Add(item)
		}
		q.Add(100)
		q.AddWith(200, shardq.AddOptions{Priority: -1})
		gets := 0
		for item := -1; item != 200; gets++ {
			item = take(t, q)
			q.Add(item)
			q.Done(item)
			require.Less(t, gets, 16*shards*2*3)
		}
	}
}
