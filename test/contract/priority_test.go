package contract

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
)

func withPriority(priority int) shardq.AddOptions { return shardq.AddOptions{Priority: priority} }

// handedOut gets all ready items, and calls Done of each.
func handedOut[T comparable](q *shardq.Queue[T]) (items []T) {
	for q.Len() > 0 {
		item, _ := q.Get()
		items = append(items, item)
		q.Done(item)
	}
	return items
}

func TestC45HigherPrioritiesComeFirst(t *testing.T) {
	q := shardq.MustNew(shardq.Options[int]{Shards: 1})
	priorities := []int{0, 5, -3, 5, math.MaxInt, 0, math.MinInt, 1000, -3, 1}
	for item, priority := range priorities {
		q.AddWith(item, withPriority(priority))
	}
	require.Equal(t, len(priorities), q.Len())
	want := make([]int, len(priorities))
	for i := range want {
		want[i] = i
	}
	slices.SortStableFunc(want, func(a, b int) int { // by priority, then in the order of the adds
		switch {
		case priorities[a] > priorities[b]:
			return -1
		case priorities[a] < priorities[b]:
			return 1
		}
		return 0
	})
	require.Equal(t, want, handedOut(q))
}

func TestC45HighestPriorityCounts(t *testing.T) {
	for _, shards := range []int{1, 8} {
		t.Run(fmt.Sprintf("shards=%d", shards), func(t *testing.T) {
			q := shardq.MustNew(shardq.Options[string]{Shards: shards})
			q.AddWith("a", withPriority(3))
			q.AddWith("a", withPriority(7))
			q.AddWith("a", withPriority(5))
			q.Add("a")
			item, priority, shutdown := getWithPriority(q)
			require.Equal(t, "a", item)
			require.Equal(t, 7, priority)
			require.False(t, shutdown)
			require.Equal(t, uint64(3), q.Stats().Deduplicated)
		})
	}
	t.Run("it joins the tail", func(t *testing.T) {
		q := shardq.MustNew(shardq.Options[string]{Shards: 1})
		q.Add("a")
		q.AddWith("b", withPriority(2))
		q.AddWith("a", withPriority(2))
		q.AddWith("c", withPriority(2))
		q.AddWith("b", withPriority(2)) // changes nothing
		require.Equal(t, []string{"b", "a", "c"}, handedOut(q))
	})
	t.Run("a negative one is raised by Add", func(t *testing.T) {
		q := shardq.MustNew(shardq.Options[string]{Shards: 1})
		q.AddWith("a", withPriority(-2))
		q.Add("b")
		q.Add("a")
		require.Equal(t, []string{"b", "a"}, handedOut(q))
	})
}

func TestC45DirtyItem(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Shards: 1})
	q.AddWith("a", withPriority(9))
	q.Get()
	q.AddWith("a", withPriority(2))
	q.AddWith("a", withPriority(4))
	q.Add("a")
	q.AddWith("b", withPriority(3))
	q.Done("a")
	item, priority, _ := getWithPriority(q)
	require.Equal(t, "a", item)
	require.Equal(t, 4, priority)
}

func TestC45EachRunHasItsOwnPriority(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Shards: 1})
	q.AddWith("a", withPriority(9))
	handedOut(q)
	q.AddWith("a", withPriority(-1))
	_, priority, _ := getWithPriority(q)
	require.Equal(t, -1, priority)
	q.AddWith("a", withPriority(-2))
	q.Done("a")
	_, priority, _ = getWithPriority(q)
	require.Equal(t, -2, priority)
}

func TestC45DelayedItem(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q := newQueueOn[string](shards, line)
		defer q.ShutDown()
		late := shardq.AddOptions{After: 2e9, Priority: 6}
		q.AddWith("a", shardq.AddOptions{After: 1e9, Priority: 3})
		q.AddWith("a", late)
		q.AddWith("a", shardq.AddOptions{After: 1e9}) // lower
		q.Add("a")                                    // a run of its own
		item, priority, _ := getWithPriority(q)
		require.Equal(t, "a", item)
		require.Zero(t, priority)
		q.AddWith("a", withPriority(-4)) // one more run; then the delay expires
		line.pass(1e9)
		q.Done("a")
		_, priority, _ = getWithPriority(q)
		require.Equal(t, 6, priority)
		q.Done("a")
		requireCounts(t, q, 0, 0, 0)
	})
}

func TestC45CanceledItemLosesItsPriority(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Shards: 1})
	q.AddWith("a", withPriority(9))
	q.AddWith("a", shardq.AddOptions{After: 1e9, Priority: 9})
	require.Equal(t, shardq.Canceled{Ready: true, Delayed: true}, q.Cancel("a"))
	q.AddWith("b", withPriority(1))
	q.Add("a")
	require.Equal(t, []string{"b", "a"}, handedOut(q))
}

// TestC45AcrossShards checks that successive Gets prefer the highest class.
func TestC45AcrossShards(t *testing.T) {
	for _, shards := range []int{2, 32, 100} {
		q := shardq.MustNew(shardq.Options[int]{Shards: shards})
		for item := range 3000 {
			q.AddWith(item, withPriority(item%31-15))
		}
		last := math.MaxInt
		for range 3000 {
			item, priority, _ := getWithPriority(q)
			require.LessOrEqual(t, priority, last)
			require.Equal(t, item%31-15, priority)
			last = priority
			q.Done(item)
		}
	}
}

func TestC45ParkedGetReturnsThePriority(t *testing.T) {
	for _, shards := range []int{1, 8} {
		q := shardq.MustNew(shardq.Options[string]{Shards: shards})
		reported := make(chan int)
		go func() {
			for {
				item, priority, shutdown := getWithPriority(q)
				if reported <- priority; shutdown {
					return
				}
				q.Done(item)
			}
		}()
		q.AddWith("a", withPriority(-7))
		require.Equal(t, -7, <-reported)
		q.AddWith("a", withPriority(8))
		require.Equal(t, 8, <-reported)
		q.ShutDown()
		require.Zero(t, <-reported)
	}
}

func TestC45PrioritiesAllocateNothing(t *testing.T) {
	for _, shards := range []int{1, 8} {
		q := shardq.MustNew(shardq.Options[int]{Shards: shards})
		n := 0
		cycle := func() {
			for range 100 {
				q.AddWith(n%50, withPriority(n%5))
				item, _ := q.Get()
				q.Done(item)
				n++
			}
		}
		cycle()
		if allocations := testing.AllocsPerRun(20, cycle); allocations > 0 && !raceDetector {
			t.Errorf("%v allocations", allocations)
		}
	}
}

// TestC45StatsCountByPriority: with and without groups, at each step.
func TestC45StatsCountByPriority(t *testing.T) {
	for name, group := range map[string]func(int) string{
		"no groups": nil,
		"groups":    func(item int) string { return fmt.Sprint(item % 3) },
	} {
		t.Run(name, func(t *testing.T) {
			q := shardq.MustNew(shardq.Options[int]{Shards: 4, Group: group})
			expect := func(want ...stats.Priority) {
				t.Helper()
				require.Equal(t, want, q.Stats().Priorities)
			}
			q.AddBatch([]int{0, 1, 2, 3, 4}, shardq.AddOptions{})
			expect() // all have the priority 0
			for item := range 20 {
				q.AddWith(item, withPriority(item%4-1))
			}
			expect(stats.Priority{Priority: 2, Ready: 5}, stats.Priority{Priority: 1, Ready: 5},
				stats.Priority{Priority: 0, Ready: 7}, stats.Priority{Priority: -1, Ready: 3})
			q.AddWith(19, withPriority(9)) // raised
			q.Cancel(15)
			expect(stats.Priority{Priority: 9, Ready: 1}, stats.Priority{Priority: 2, Ready: 3},
				stats.Priority{Priority: 1, Ready: 5}, stats.Priority{Priority: 0, Ready: 7},
				stats.Priority{Priority: -1, Ready: 3})
			handedOut(q)
			expect()
			// Whatever the hash, one of the 4 shards has 257 of them.
			for item := range 4*256 + 1 {
				q.AddWith(item, withPriority(item))
			}
			expect() // too many
		})
	}
}

func TestC46LowerPrioritiesMakeProgress(t *testing.T) {
	q := shardq.MustNew(shardq.Options[int]{Shards: 1, LowPriorityInterval: 10})
	q.Add(-1)
	gets := 0
	for item := 0; item != -1; gets++ {
		q.AddWith(gets, withPriority(5))
		q.AddWith(gets+1_000_000, withPriority(5))
		item, _ = q.Get()
		require.LessOrEqual(t, gets, 2*10)
	}
	require.GreaterOrEqual(t, gets, 10)

	_, err := shardq.New(shardq.Options[int]{LowPriorityInterval: -1})
	require.EqualError(t, err, "shardq: Options.LowPriorityInterval is -1: want 0 (never) to 2147483647")
}

// An add that cancels a delay serves the delayed add, too: the higher priority
// counts.
func TestC45AddThatCancelsADelay(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := engine.Follow(shardq.MustNew(shardq.Options[string]{Shards: shards, Clock: newFake()}), shard.Rules{CancelDelayOnAdd: true})
		q.AddWith("a", shardq.AddOptions{After: time.Hour, Priority: 5})
		q.AddWith("a", shardq.AddOptions{Priority: 1})
		_, priority, _ := getWithPriority(q)
		require.Equal(t, 5, priority)
	})
}
