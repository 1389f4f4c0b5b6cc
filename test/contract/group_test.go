package contract

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
)

// tenant returns the group of an item such as "a/1": the text before the slash.
func tenant(item string) string {
	name, _, _ := strings.Cut(item, "/")
	return name
}

// ofTenant returns the items "name/0" to "name/n-1".
func ofTenant(name string, n int) (items []string) {
	for i := range n {
		items = append(items, fmt.Sprintf("%s/%d", name, i))
	}
	return items
}

func TestC47GroupsTakeTurns(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Shards: 1, Group: tenant})
	q.AddBatch(ofTenant("a", 4), shardq.AddOptions{})
	q.AddBatch(ofTenant("b", 2), shardq.AddOptions{})
	q.AddBatch(ofTenant("c", 1), shardq.AddOptions{})
	require.Equal(t, 7, q.Len())
	takeItem(t, q, "a/0")
	q.Add("d/0")
	batch := make([]string, 3)
	n, err := getBatch(q, context.Background(), batch)
	require.NoError(t, err)
	require.Equal(t, []string{"b/0", "c/0", "a/1"}, batch[:n], "a's second turn was due before d was added")
	require.Equal(t, []string{"d/0", "b/1", "a/2", "a/3"}, handedOut(q))
}

func TestC47Weights(t *testing.T) {
	weights := map[string]int{"a": 3, "c": 0, "d": -5}
	q := shardq.MustNew(shardq.Options[string]{
		Shards: 1, Group: tenant, GroupPolicy: func(group string) shardq.GroupPolicy { return shardq.GroupPolicy{Weight: weights[group]} },
	})
	for _, name := range []string{"a", "b", "c", "d"} {
		q.AddBatch(ofTenant(name, 4), shardq.AddOptions{})
	}
	require.Equal(t, []string{
		"a/0", "a/1", "a/2", "b/0", "c/0", "d/0",
		"a/3", "b/1", "c/1", "d/1", "b/2", "c/2", "d/2", "b/3", "c/3", "d/3",
	}, handedOut(q))

	q.AddBatch(ofTenant("a", 4), shardq.AddOptions{})
	q.AddBatch(ofTenant("b", 4), shardq.AddOptions{})
	weights["a"], weights["b"] = 1, 2
	q.Add("a/0") // deduplicated, and calls GroupPolicy
	q.Add("b/0")
	require.Equal(t, []string{"a/0", "b/0", "b/1", "a/1", "b/2", "b/3", "a/2", "a/3"}, handedOut(q))

	weights["a"] = math.MaxInt
	q.Add("a/0")
	for info := range q.Groups() {
		require.Equal(t, shard.MaxGroupWeight, info.Weight)
	}
}

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

// TestC47GreatWeights checks that the total weight of the groups of a shard
// does not overflow.
func TestC47GreatWeights(t *testing.T) {
	const groups = 3000
	q := shardq.MustNew(shardq.Options[int]{Shards: 1, Group: func(item int) string { return fmt.Sprint(item % groups) },
		GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Weight: shard.MaxGroupWeight} }})
	for item := range 2 * groups {
		q.Add(item)
	}
	for turn := range groups {
		for range 2 {
			item, _ := q.Get()
			require.Equal(t, turn, item%groups)
		}
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

func TestC47PrioritiesWithinAGroup(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Shards: 1, Group: tenant})
	q.AddWith("a/0", withPriority(-1))
	q.AddWith("a/1", withPriority(9))
	q.AddWith("a/2", withPriority(9))
	q.Add("b/0")
	q.AddAfter("b/1", time.Hour)
	q.AddWith("b/0", withPriority(3))
	q.AddWith("b/1", withPriority(4))
	q.Add("c/0")
	require.Equal(t, []string{"a/1", "b/1", "c/0", "a/2", "b/0", "a/0"}, handedOut(q))
	q.ShutDown()
}

// TestC66PrioritiesBeforeTurns: an urgent item waits for no other group, groups
// take turns on both levels, and with an interval neither level starves.
func TestC66PrioritiesBeforeTurns(t *testing.T) {
	const groups = 1000
	for _, interval := range []int{0, 4} {
		q := engine.Follow(shardq.MustNew(shardq.Options[string]{
			Shards: 1, Group: tenant, LowPriorityInterval: interval,
		}), shard.Rules{PrioritiesBeforeTurns: true})
		for i := range 3 * groups {
			q.AddWith(fmt.Sprintf("%d/%d", i%groups, i/groups), withPriority(-100))
		}
		q.Add("7/urgent")
		item, priority, _ := getWithPriority(q)
		require.Equal(t, "7/urgent", item)
		require.Zero(t, priority)
		came := map[string]int{}
		for get := range 3 * groups {
			if interval > 0 { // as many urgent items as are handed out
				q.Add(fmt.Sprint("7/urgent", get))
			}
			item, priority, _ := getWithPriority(q)
			if priority < 0 {
				came[tenant(item)]++
			}
		}
		if interval == 0 {
			require.Len(t, came, groups)
			require.Zero(t, q.Len())
		} else {
			require.InDelta(t, 3*groups/interval, len(came), 3, "almost each is of another group")
		}
		q.ShutDown()
	}
}

// TestC47LowerLevelsWithinAGroup checks that LowPriorityInterval counts the
// Gets of a group.
func TestC47LowerLevelsWithinAGroup(t *testing.T) {
	for _, shards := range []int{1, 8} {
		q := shardq.MustNew(shardq.Options[string]{Shards: shards, Group: tenant, LowPriorityInterval: 4})
		q.AddWith("a/low", withPriority(-1))
		q.AddWith("b/low", withPriority(-1))
		came := map[string]int{}
		for gets := 0; len(came) < 2; gets++ {
			require.Less(t, gets, 100)
			q.Add(fmt.Sprint("a/", gets))
			q.Add(fmt.Sprint("b/", gets))
			item, priority, _ := getWithPriority(q)
			if priority < 0 {
				came[item] = gets
			}
			q.Done(item)
		}
	}
}

func TestC47NewItemsOfAForgottenGroup(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := shardq.MustNew(shardq.Options[string]{Shards: shards, Group: tenant})
		for round := range 100 {
			q.AddWith("a/0", withPriority(round%3))
			q.Add("b/0")
			require.Equal(t, 2, q.Stats().Groups)
			handedOut(q)
			require.Zero(t, q.Stats().Groups)
			require.Empty(t, slices.Collect(q.Groups()))
		}
	})
}

func TestC47GroupOfARow(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Group: tenant, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: 1} }, Ages: true})
	q.AddBatch([]string{"a/0", "a/1", "b/0"}, shardq.AddOptions{})
	q.AddAfter("c/0", time.Hour)
	got := map[string]string{}
	for _, state := range []stats.State{stats.Ready, stats.Processing, stats.Delayed} {
		for row := range q.All(state) {
			got[row.Item] = row.Group
		}
	}
	require.Equal(t, map[string]string{"a/0": "a", "a/1": "a", "b/0": "b", "c/0": "c"}, got)
	for range 2 {
		q.Get()
	}
	infos := map[string]stats.Group{}
	for info := range q.Groups() {
		require.Equal(t, info.Ready == 0, info.Oldest.IsZero())
		info.Shard, info.Oldest = 0, time.Time{}
		infos[info.Group] = info
	}
	require.Equal(t, map[string]stats.Group{
		"a": {Group: "a", Held: 2, Ready: 1, Processing: 1, Weight: 1, Limit: 1, Throttled: true, Reason: stats.ThrottledByLimit},
		"b": {Group: "b", Held: 1, Processing: 1, Weight: 1, Limit: 1},
		"c": {Group: "c", Held: 1, Weight: 1, Limit: 1},
	}, infos)
	stats := q.Stats()
	require.Equal(t, []int{3, 1, 1, 2, 1}, []int{stats.Groups, stats.Throttled, stats.Ready, stats.Processing, stats.Delayed})
	q.ShutDown()
}

// TestC47IdleGroupsCostNothing adds and removes very many groups.
func TestC47IdleGroupsCostNothing(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := shardq.MustNew(shardq.Options[int]{Shards: shards, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: 2} }, Group: func(item int) string { return fmt.Sprint(item / 2) }})
		q.Add(-2) // one that stays
		cycle := func(n int) {
			for i := range 2 * n {
				q.Add(i)
			}
			for q.Len() > 1 {
				item, _ := q.Get()
				if item < 0 {
					q.Done(item)
					q.Add(item)
					continue
				}
				q.Done(item)
			}
		}
		cycle(100)
		before := heap()
		groups := scaled(100_000, 10_000)
		for i := range 2 * groups {
			q.Add(i)
		}
		full := heap()
		require.Equal(t, groups+1, q.Stats().Groups)
		cycle(0)
		after := heap()
		// An item takes about 40 bytes, its number as a group's name 24, a
		// group about 90.
		require.Less(t, full-before, int64(groups*400))
		require.Less(t, after-before, int64(groups*8+shards*8192), "of %d bytes", full-before)
	})
}

func TestC48LimitHolds(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		const limit, groups, items, workers = 2, 5, 200, 8
		q := shardq.MustNew(shardq.Options[string]{Shards: shards, Group: tenant, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: limit} }})
		var present [groups]atomic.Int32
		var most [groups]atomic.Int32
		var done atomic.Int32
		var pool sync.WaitGroup
		for range workers {
			pool.Go(func() {
				for {
					item, shutdown := q.Get()
					if shutdown {
						return
					}
					g := item[0] - 'a'
					n := present[g].Add(1)
					for before := most[g].Load(); n > before && !most[g].CompareAndSwap(before, n); {
						before = most[g].Load()
					}
					if done.Add(1)%3 == 0 {
						q.Add(item) // dirty: once more
					}
					present[g].Add(-1)
					q.Done(item)
				}
			})
		}
		for i := range items {
			for g := range groups {
				q.Add(fmt.Sprintf("%c/%d", 'a'+g, i))
			}
		}
		q.ShutDownWithDrain()
		pool.Wait()
		for g := range groups {
			require.LessOrEqual(t, most[g].Load(), int32(limit))
			require.Positive(t, most[g].Load())
		}
		requireCounts(t, q, 0, 0, 0)
	})
}

func TestC48ThrottledIsReady(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := shardq.MustNew(shardq.Options[string]{Shards: shards, Group: tenant, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: 1} }})
		q.AddBatch(ofTenant("a", 3), shardq.AddOptions{})
		takeItem(t, q, "a/0")
		requireCounts(t, q, 2, 0, 1)
		got := make(chan string)
		go func() {
			item, _ := q.Get()
			got <- item
		}()
		synctest.Wait()
		require.Empty(t, got, "the group is at its limit")
		q.Add("b/0")
		require.Equal(t, "b/0", <-got, "another is not")
		go func() {
			item, _ := q.Get()
			got <- item
		}()
		synctest.Wait()
		q.Done("a/0")
		require.Equal(t, "a/1", <-got, "the Done woke the parked consumer")
		require.Equal(t, 1, q.Stats().Throttled)
		require.True(t, q.Cancel("a/2").Ready)
		require.Zero(t, q.Stats().Throttled)
		q.Done("a/1")
		q.Done("b/0")
		requireCounts(t, q, 0, 0, 0)
	})
}

// TestC48GetWaitsForThrottledItems checks that a Get waits for throttled items,
// also after a shutdown. It returns true when nothing is left, whatever the
// cause.
func TestC48GetWaitsForThrottledItems(t *testing.T) {
	endings := map[string]func(q *shardq.Queue[string]) (handedOut int){
		"it is handed out": func(q *shardq.Queue[string]) int { q.Done("a/0"); return 1 },
		"it is canceled":   func(q *shardq.Queue[string]) int { q.Cancel("a/1"); return 0 },
	}
	for name, end := range endings {
		t.Run(name, func(t *testing.T) {
			forEachShardCountInBubble(t, func(t *testing.T, shards int) {
				q := shardq.MustNew(shardq.Options[string]{Shards: shards, Group: tenant, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: 1} }})
				q.AddBatch(ofTenant("a", 2), shardq.AddOptions{})
				takeItem(t, q, "a/0")
				q.ShutDown()
				var reported, items atomic.Int32
				var sleepers sync.WaitGroup
				for range 3 {
					sleepers.Go(func() {
						for {
							item, shutdown := q.Get()
							if shutdown {
								reported.Add(1)
								return
							}
							items.Add(1)
							q.Done(item)
						}
					})
				}
				synctest.Wait()
				require.Zero(t, reported.Load()+items.Load(), "items are throttled")
				n := end(q)
				sleepers.Wait()
				require.Equal(t, []int32{3, int32(n)}, []int32{reported.Load(), items.Load()})
			})
		})
	}
}

// TestC48NobodyLeavesEarly checks that a Get returns shutdown only if there was
// a moment at which nothing was ready and nothing throttled.
func TestC48NobodyLeavesEarly(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		for range scaled(20_000, 2_000) {
			q := shardq.MustNew(shardq.Options[int]{Shards: shards, Group: func(int) string { return "" }, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: 1} }})
			q.AddBatch(numbers(6), shardq.AddOptions{})
			q.ShutDown()
			var early atomic.Int32
			together(4, func(int) {
				for item, shutdown := q.Get(); !shutdown; item, shutdown = q.Get() {
					q.Done(item)
				}
				early.Add(int32(q.Len()))
			})
			require.Zero(t, early.Load(), "items were left when a Get said that nothing is")
		}
	})
}

// TestC48DrainWithOneConsumer: one goroutine gets all items, and others end
// them. Its Get must not return shutdown while items are throttled.
func TestC48DrainWithOneConsumer(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := shardq.MustNew(shardq.Options[string]{Shards: shards, Group: tenant, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: 3} }})
		q.AddBatch(ofTenant("a", 100), shardq.AddOptions{})
		q.AddBatch(ofTenant("b", 100), shardq.AddOptions{})
		items := make(chan string)
		var pool sync.WaitGroup
		for range 8 {
			pool.Go(func() {
				for item := range items {
					q.Done(item)
				}
			})
		}
		n := 0
		pool.Go(func() {
			defer close(items)
			for item := range q.Items(context.Background()) {
				n++
				items <- item
			}
		})
		q.ShutDownWithDrain()
		pool.Wait()
		require.Equal(t, 200, n)
	})
}

func TestC47GroupsThatPanic(t *testing.T) {
	bad := false
	q := shardq.MustNew(shardq.Options[string]{
		Group: func(item string) string { return item[:1] },
		GroupPolicy: func(group string) shardq.GroupPolicy {
			return shardq.GroupPolicy{Weight: func(string) int {
				if bad {
					panic("on purpose")
				}
				return 1
			}(group)}
		},
	})
	q.Add("a")
	for _, call := range []func(){
		func() { q.Add("") }, func() { q.Done("") }, func() { q.AddAfter("", time.Hour) },
		func() { q.AddBatch([]string{"b", ""}, shardq.AddOptions{}) }, func() { q.Cancel("") }, func() { _ = q.TryAdd("", shardq.AddOptions{}) },
		func() { bad = true; q.Add("b") },
	} {
		require.Panics(t, call)
	}
	bad = false
	q.Done(take(t, q))
	requireCycle(t, q, "c")
	requireCounts(t, q, 0, 0, 0)
}

// TestC48WeightAfterAWaitForCapacity checks that an AddContext that has waited
// calls GroupWeight again.
func TestC48WeightAfterAWaitForCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		weight := 1
		q := shardq.MustNew(shardq.Options[string]{Group: tenant, Capacity: 1, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Weight: weight} }})
		q.Add("a/0")
		go func() { _ = q.AddContext(t.Context(), "a/1", shardq.AddOptions{}) }()
		synctest.Wait()
		weight = 7
		q.Add("a/0")
		q.Add("a/2") // beyond the capacity
		takeItem(t, q, "a/0")
		q.Done("a/0")
		takeItem(t, q, "a/2")
		q.Done("a/2")
		synctest.Wait()
		for info := range q.Groups() {
			require.Equal(t, 7, info.Weight)
		}
		takeItem(t, q, "a/1")
	})
}

func TestC47GroupOptions(t *testing.T) {
	hash := func(string) uint64 { return 0 }
	for want, options := range map[string]shardq.Options[string]{
		"Hash and Options.Group":                 {Hash: hash, Group: tenant},
		"GroupPolicy is set: want it with Group": {GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Weight: 1} }},
	} {
		_, err := shardq.New(options)
		require.ErrorContains(t, err, want)
	}
	shardOf := map[string]int{}
	for range 3 {
		q := shardq.MustNew(shardq.Options[*int]{Shards: 64, StableRouting: true, Group: func(*int) string { return "a group" }})
		q.Add(new(int))
		for info := range q.Groups() {
			if of, known := shardOf[info.Group]; known {
				require.Equal(t, of, info.Shard, "the same in each queue")
			}
			shardOf[info.Group] = info.Shard
		}
	}
}

// TestC47GroupsAllocateNothing checks that groups allocate nothing in steady
// state.
func TestC47GroupsAllocateNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	q := shardq.MustNew(shardq.Options[string]{Group: tenant, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: 2} }})
	items := slices.Concat(ofTenant("a", 3), ofTenant("b", 3), ofTenant("c", 1))
	cycle := func() {
		for _, item := range items {
			q.Add(item)
		}
		for q.Len() > 0 {
			item, _ := q.Get()
			q.Done(item)
		}
	}
	cycle()
	require.Zero(t, testing.AllocsPerRun(100, cycle))
}
