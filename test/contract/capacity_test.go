package contract

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

// newBounded returns a queue with a capacity.
func newBounded[T comparable](shards, capacity int) *shardq.Queue[T] {
	return shardq.MustNew(shardq.Options[T]{Shards: shards, Capacity: capacity})
}

func TestC40TryAddWithinTheCapacity(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := newBounded[int](shards, 3)
		for item := range 3 {
			require.NoError(t, q.TryAdd(item, shardq.AddOptions{}))
		}
		require.ErrorIs(t, q.TryAdd(3, shardq.AddOptions{}), shardq.ErrFull)
		requireCounts(t, q, 3, 0, 0)

		first := take(t, q)
		require.ErrorIs(t, q.TryAdd(3, shardq.AddOptions{}), shardq.ErrFull, "an item in processing is held, too")
		q.Done(first)
		require.NoError(t, q.TryAdd(3, shardq.AddOptions{}))
		require.ErrorIs(t, q.TryAdd(4, shardq.AddOptions{}), shardq.ErrFull)
	})
}

// An item that the queue holds already needs no capacity.
func TestC40DuplicatesAndRequeuesNeedNoCapacity(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := shardq.MustNew(shardq.Options[string]{Shards: shards, Capacity: 2, Clock: newFake()})
		require.NoError(t, q.TryAdd("held", shardq.AddOptions{}))
		take(t, q)
		q.AddAfter("delayed", time.Hour)
		for range 2 {
			require.NoError(t, q.TryAdd("held", shardq.AddOptions{}))
			require.NoError(t, q.TryAdd("delayed", shardq.AddOptions{}))
			require.NoError(t, q.AddContext(t.Context(), "held", shardq.AddOptions{}))
		}
		require.ErrorIs(t, q.TryAdd("other", shardq.AddOptions{}), shardq.ErrFull)
		require.Zero(t, q.Stats().OverCapacity)
		q.Done("held")
		requireCounts(t, q, 2, 1, 0)
	})
}

func TestC40OtherAddsMayExceed(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := shardq.MustNew(shardq.Options[int]{Shards: shards, Capacity: 1, Clock: newFake()})
		q.Add(1)
		q.Add(2)
		q.AddAfter(3, time.Hour)
		q.AddRateLimited(4)
		q.AddBatch([]int{5, 6}, shardq.AddOptions{})
		q.AddWith(7, shardq.AddOptions{After: time.Minute})
		require.EqualValues(t, 6, q.Stats().OverCapacity)
		require.ErrorIs(t, q.TryAdd(8, shardq.AddOptions{}), shardq.ErrFull)
	})
}

func TestC40NoCapacityIsNoBound(t *testing.T) {
	q := newQueue[int](2)
	for item := range 1000 {
		require.NoError(t, q.TryAdd(item, shardq.AddOptions{}))
		require.NoError(t, q.AddContext(t.Context(), item+1000, shardq.AddOptions{}))
	}
	require.Zero(t, q.Stats().OverCapacity)
}

// The first waiter is admitted first. An item that leaves the queue in any way
// frees capacity.
func TestC40WaitersAreAdmittedInOrder(t *testing.T) {
	leave := map[string]func(q *shardq.Queue[int], item int){
		"Done":      func(q *shardq.Queue[int], item int) { q.Done(item) },
		"DoneBatch": func(q *shardq.Queue[int], item int) { doneBatch(q, []int{item}) },
		"Cancel":    func(q *shardq.Queue[int], item int) { q.Add(item); q.Done(item); q.Cancel(item) },
	}
	for name, leave := range leave {
		t.Run(name, func(t *testing.T) {
			forEachShardCountInBubble(t, func(t *testing.T, shards int) {
				q := newBounded[int](shards, 1)
				q.Add(0)
				var order []int
				for item := range 5 {
					go func() {
						require.NoError(t, q.AddContext(t.Context(), item+1, shardq.AddOptions{}))
						order = append(order, item+1)
					}()
					synctest.Wait()
				}
				require.ErrorIs(t, q.TryAdd(9, shardq.AddOptions{}), shardq.ErrFull)
				for n := range 5 {
					require.Len(t, order, n)
					item := take(t, q)
					require.ErrorIs(t, q.TryAdd(9, shardq.AddOptions{}), shardq.ErrFull)
					leave(q, item)
					synctest.Wait()
				}
				require.Equal(t, []int{1, 2, 3, 4, 5}, order)
			})
		})
	}
}

func TestC40WaitEndsWithTheContext(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newBounded[int](shards, 1)
		q.Add(0)
		ctx, cancel := context.WithCancel(t.Context())
		var first, second error
		go func() { first = q.AddContext(ctx, 1, shardq.AddOptions{}) }()
		synctest.Wait()
		waits := returned(func() { second = q.AddContext(t.Context(), 2, shardq.AddOptions{}) })
		cancel()
		requireStillFalse(t, waits, "the queue is full")
		require.ErrorIs(t, first, context.Canceled)
		q.Done(take(t, q))
		requireBecomesTrue(t, waits)
		require.NoError(t, second)
		require.Equal(t, 2, take(t, q))
		require.ErrorIs(t, q.AddContext(ctx, 0, shardq.AddOptions{}), context.Canceled, "the context is looked at first")
		requireCounts(t, q, 0, 0, 1)
	})
}

func TestC40ShutDownEndsTheWait(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newBounded[int](shards, 1)
		q.Add(0)
		errs := make([]error, 10)
		var waiting sync.WaitGroup
		for i := range errs {
			waiting.Go(func() { errs[i] = q.AddContext(t.Context(), i+1, shardq.AddOptions{}) })
		}
		synctest.Wait()
		q.ShutDown()
		waiting.Wait()
		for _, err := range errs {
			require.ErrorIs(t, err, shardq.ErrShutDown)
		}
		require.ErrorIs(t, q.TryAdd(0, shardq.AddOptions{}), shardq.ErrShutDown)
		require.ErrorIs(t, q.AddContext(t.Context(), 0, shardq.AddOptions{}), shardq.ErrShutDown)
		requireCounts(t, q, 1, 0, 0)
	})
}

// An item that another goroutine adds while its producer waits takes no
// capacity a second time.
func TestC40ItemIsAddedDuringTheWait(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newBounded[int](shards, 1)
		q.Add(0)
		waits := returned(func() { require.NoError(t, q.AddContext(t.Context(), 1, shardq.AddOptions{})) })
		requireStillFalse(t, waits, "the queue is full")
		q.Add(1) // beyond the capacity
		requireStillFalse(t, waits, "the queue is full")
		q.Cancel(0)
		requireStillFalse(t, waits, "the queue is full: it holds 1")
		q.Cancel(1)
		requireBecomesTrue(t, waits)
		requireCounts(t, q, 1, 0, 0)
		q.Cancel(1)
		require.NoError(t, q.TryAdd(2, shardq.AddOptions{}), "all the capacity is free again")
	})
}

// The same holds if the queue still has the item when its producer is admitted.
func TestC40ItemIsHeldWhenItIsAdmitted(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newBounded[int](shards, 2)
		q.AddBatch([]int{8, 9}, shardq.AddOptions{})
		waits := returned(func() { require.NoError(t, q.AddContext(t.Context(), 1, shardq.AddOptions{})) })
		requireStillFalse(t, waits, "the queue is full")
		q.Add(1) // beyond the capacity
		q.Cancel(8)
		requireStillFalse(t, waits, "the queue is full")
		q.Cancel(9)
		requireBecomesTrue(t, waits)
		requireCounts(t, q, 1, 0, 0)
		require.NoError(t, q.TryAdd(2, shardq.AddOptions{}), "1 counts once")
		require.ErrorIs(t, q.TryAdd(3, shardq.AddOptions{}), shardq.ErrFull)
	})
}

func TestC40ImpossibleItemIsRejected(t *testing.T) {
	q := newBounded[float64](2, 1)
	require.ErrorIs(t, q.TryAdd(math.NaN(), shardq.AddOptions{}), shardq.ErrRejected)
	require.ErrorIs(t, q.AddContext(t.Context(), math.NaN(), shardq.AddOptions{}), shardq.ErrRejected)
	require.EqualValues(t, 2, q.Stats().Rejected)
	require.NoError(t, q.TryAdd(1, shardq.AddOptions{}))
}

// Many producers share a small capacity: all are admitted, and the limit always
// holds.
func TestC40BoundHoldsUnderLoad(t *testing.T) { forEachShardCount(t, checkBoundUnderLoad) }

func checkBoundUnderLoad(t *testing.T, shards int) {
	const capacity, producers, each = 4, 8, 500
	q := newBounded[int](shards, capacity)
	var producing, consuming sync.WaitGroup
	for p := range producers {
		producing.Go(func() {
			for i := range each {
				require.NoError(t, q.AddContext(context.Background(), p*each+i, shardq.AddOptions{}))
			}
		})
	}
	var mu sync.Mutex
	var seen []int
	for range 3 {
		consuming.Go(func() {
			for item := range q.Items(context.Background()) {
				stats := q.Stats() // with one shard, a reading of one moment
				if held := stats.Ready + stats.Processing; shards == 1 && held > capacity {
					t.Errorf("%d items are held", held)
				}
				mu.Lock()
				seen = append(seen, item)
				mu.Unlock()
			}
		})
	}
	producing.Wait()
	q.ShutDownWithDrain()
	consuming.Wait()
	slices.Sort(seen)
	require.Len(t, slices.Compact(seen), producers*each)
	require.Zero(t, q.Stats().OverCapacity)
}

func TestC41WatermarksInTurn(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		var reported []bool
		q := shardq.MustNew(shardq.Options[int]{
			Name: "q", Shards: shards, Watermarks: shardq.Watermarks{High: 4, Low: 1, On: func(w shardq.Watermark) {
				require.Equal(t, "q", w.Queue)
				reported = append(reported, w.High)
			}},
		})
		for round := range 3 {
			for item := range 8 {
				q.Add(item)
				require.Len(t, reported, 2*round+min(1, (item+1)/4))
			}
			for left := 7; left >= 0; left-- {
				q.Done(take(t, q))
				want := 2*round + 1
				if left <= 1 {
					want++
				}
				require.Len(t, reported, want)
			}
		}
		require.Equal(t, []bool{true, false, true, false, true, false}, reported)
	})
}

// The queue reports a crossing during a call of the hook after that call.
func TestC41OneCallAtATime(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		var q *shardq.Queue[int]
		var reported []bool
		inCall := false
		q = shardq.MustNew(shardq.Options[int]{
			Shards: shards, Watermarks: shardq.Watermarks{High: 2, Low: 0, On: func(w shardq.Watermark) {
				require.False(t, inCall, "a call within a call")
				inCall = true
				if reported = append(reported, w.High); w.High {
					q.Cancel(1)
					q.Cancel(2)
				}
				inCall = false
			}},
		})
		q.Add(1)
		q.Add(2)
		require.Equal(t, []bool{true, false}, reported)
	})
}

// The hook may call the queue, and may panic.
func TestC41WatermarkHookMayDoAnything(t *testing.T) {
	var q *shardq.Queue[int]
	calls := 0
	q = shardq.MustNew(shardq.Options[int]{
		Shards: 2, Watermarks: shardq.Watermarks{High: 2, Low: 0, On: func(w shardq.Watermark) {
			calls++
			if w.High {
				q.Add(100)
				panic("on purpose")
			}
		}},
	})
	q.Add(1)
	require.PanicsWithValue(t, "on purpose", func() { q.Add(2) })
	requireCounts(t, q, 3, 0, 0)
	for range 3 {
		q.Done(take(t, q))
	}
	require.Equal(t, 2, calls)
}

// A hook that panics leaves no consumer parked: the queue calls it last.
func TestC41C17PanickingHookLeavesNobodyParked(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		panics := true
		q := shardq.MustNew(shardq.Options[int]{Shards: shards, Capacity: 2, Watermarks: shardq.Watermarks{High: 1, On: func(shardq.Watermark) {
			if panics {
				panic("hook")
			}
		}}})
		for name, add := range map[string]func(item int){
			"Add":      q.Add,
			"AddBatch": func(item int) { q.AddBatch([]int{item}, shardq.AddOptions{}) },
			"TryAdd":   func(item int) { _ = q.TryAdd(item, shardq.AddOptions{}) },
			"AddWith":  func(item int) { q.AddWith(item, shardq.AddOptions{Policy: shardq.KeepNew}) },
		} {
			sleeper := returned(func() { item, _ := q.Get(); require.Equal(t, 1, item) })
			requireStillFalse(t, sleeper, "nothing is ready")
			require.PanicsWithValue(t, "hook", func() { add(1) }, name)
			requireBecomesTrue(t, sleeper)
			require.PanicsWithValue(t, "hook", func() { q.Done(1) }, name)
		}

		panics = false
		q.Add(1)
		takeItem(t, q, 1)
		q.Add(2)
		guest := returned(func() { require.NoError(t, q.AddContext(t.Context(), 3, shardq.AddOptions{})) })
		requireStillFalse(t, guest, "there is no capacity")
		q.Cancel(2)
		requireBecomesTrue(t, guest)
		q.Cancel(3)
		panics = true
		drained := returned(q.ShutDownWithDrain)
		requireStillFalse(t, drained, "one is in processing")
		require.PanicsWithValue(t, "hook", func() { q.Done(1) })
		requireBecomesTrue(t, drained)
	})
}

// A GroupWeight that is slow, or waits for capacity itself, blocks neither
// other waiters nor a TryAdd.
func TestC40SlowGroupWeightBlocksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		slow := false
		var q *shardq.Queue[string]
		q = shardq.MustNew(shardq.Options[string]{Shards: 1, Capacity: 3, Group: tenant, GroupPolicy: func(group string) shardq.GroupPolicy {
			return shardq.GroupPolicy{Weight: func(group string) int {
				if slow && group == "slow" {
					require.NoError(t, q.AddContext(t.Context(), "c/within", shardq.AddOptions{}))
					<-gate
				}
				return 1
			}(group)}
		}})
		for _, item := range []string{"a/1", "a/2", "a/3"} {
			q.Add(item)
		}
		entered := make([]bool, 2)
		for i, item := range []string{"slow/1", "b/1"} {
			go func() {
				require.NoError(t, q.AddContext(t.Context(), item, shardq.AddOptions{}))
				entered[i] = true
			}()
			synctest.Wait()
		}
		slow = true
		doneBatch(q, takeAll(t, q))
		synctest.Wait()
		require.Equal(t, []bool{false, true}, entered)
		require.Equal(t, 3, q.Len(), "slow/1 is in, too, and so is c/within")
		takeItem(t, q, "slow/1")
		q.Done("slow/1")
		require.NoError(t, q.TryAdd("b/2", shardq.AddOptions{}))
		close(gate)
		synctest.Wait()
		require.True(t, entered[0])
	})
}
