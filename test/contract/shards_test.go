package contract

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

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

// handedOut gets all ready items, and calls Done of each.
func handedOut[T comparable](q *shardq.Queue[T]) (items []T) {
	for q.Len() > 0 {
		item, _ := q.Get()
		items = append(items, item)
		q.Done(item)
	}
	return items
}
