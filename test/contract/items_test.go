package contract

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

// testItems sends distinct items of one type through every state of a queue.
func testItems[T comparable](t *testing.T, items ...T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		q := shardq.MustNew(shardq.Options[T]{Shards: shards, Clock: fake})
		addAll(q, items)
		addAll(q, items)
		requireExactly(t, items, takeAll(t, q))

		addAll(q, items) // dirty
		requireCounts(t, q, 0, 0, len(items))
		doneAll(q, items)
		requireExactly(t, items, finishAll(t, q))

		for _, item := range items {
			q.AddRateLimited(item)
			require.Equal(t, 1, q.NumRequeues(item))
			q.AddAfter(item, time.Hour)
			q.Forget(item)
			require.Zero(t, q.NumRequeues(item))
		}
		requireCounts(t, q, 0, len(items), 0)
		fake.Step(time.Second)
		requireExactly(t, items, finishAll(t, q))
		requireCounts(t, q, 0, 0, 0)
		require.Zero(t, q.Stats().Misused)
	})
}

// request is like the key of most controllers.
type request struct{ Namespace, Name string }

// H7: the zero value, "" and nil are items like any other, alone and among
// others.
func TestC9H7AnyComparableType(t *testing.T) {
	var nilPointer *request
	var nilError error
	one, two := new(int), new(int)
	t.Run("string", func(t *testing.T) { testItems(t, "", "a", "b", "\x00", "a\x00") })
	t.Run("int", func(t *testing.T) { testItems(t, 0, 1, -1, math.MaxInt, math.MinInt) })
	t.Run("float", func(t *testing.T) { testItems(t, 0, 1.5, math.Inf(1), math.Inf(-1)) })
	t.Run("struct", func(t *testing.T) {
		testItems(t, request{}, request{"a", ""}, request{"", "a"}, request{"a", "a"})
	})
	t.Run("empty struct", func(t *testing.T) { testItems(t, struct{}{}) })
	t.Run("array", func(t *testing.T) { testItems(t, [2]string{}, [2]string{"a"}, [2]string{"", "a"}) })
	t.Run("pointer", func(t *testing.T) { testItems(t, nil, one, two) })
	t.Run("any", func(t *testing.T) {
		testItems[any](t, nil, nilPointer, 0, "", false, 0.0, 1, uint8(1), "1", one, two, request{}, [1]any{nil}, [1]any{0})
	})
	// The compiler makes a queue for each type, which takes it seconds. So the
	// other types are items of a queue of any.
	t.Run("other types", func(t *testing.T) {
		testItems[any](t, nilError, fmt.Errorf("a"), fmt.Errorf("a"), false, true, 0i, 1i, 1+1i, struct{}{}, [0]int{},
			(chan int)(nil), make(chan int), make(chan int), float32(0), math.Inf(1))
	})
}

func TestC9H6NegativeZeroIsZero(t *testing.T) {
	negative := math.Copysign(0, -1)
	forEachShardCount(t, func(t *testing.T, shards int) {
		testOneItem(t, newQueue[float64](shards), 0, negative)
		testOneItem(t, newQueue[any](shards), any(0.0), any(negative))
		testOneItem(t, newQueue[any](shards), any(0i), any(complex(negative, negative)))
		testOneItem(t, newQueue[any](shards), any([2]float32{}), any([2]float32{float32(negative), 0}))
		testOneItem(t, newQueue[notEqualToItself](shards), notEqualToItself{}, notEqualToItself{value: negative})
	})
}

// testOneItem checks that a and b are one item wherever an item is named.
func testOneItem[T comparable](t *testing.T, q *shardq.Queue[T], a, b T) {
	q.Add(a)
	q.Add(b)
	requireCounts(t, q, 1, 0, 0)
	q.AddAfter(a, time.Hour)
	q.AddAfter(b, time.Hour)
	requireCounts(t, q, 1, 1, 0)
	take(t, q)
	q.Add(b)
	q.Done(b)
	requireCounts(t, q, 1, 1, 0)
	take(t, q)
	q.Done(b)
	requireCounts(t, q, 0, 1, 0)
	q.AddRateLimited(a)
	q.AddRateLimited(b)
	require.Equal(t, 2, q.NumRequeues(a))
	q.Forget(b)
	require.Zero(t, q.NumRequeues(a))
	require.Zero(t, q.Stats().Misused)
	q.ShutDown()
}

func TestC9H6TypesTellItemsApart(t *testing.T) {
	testItems[any](t, 1, int64(1), uint(1), 1.0, float32(1), "1", time.Duration(1))
}

func TestC16H4ItemNotEqualToItself(t *testing.T) {
	nan := math.NaN()
	testRejection(t, nan, 1)
	testRejection(t, notEqualToItself{"a", nan}, notEqualToItself{"a", 0})
	testRejection[any](t, nan, "b")
	testRejection[any](t, float32(nan), float32(1))
	testRejection[any](t, complex(1, nan), 1i)
	testRejection[any](t, [2]float64{0, nan}, [2]float64{})
	testRejection[any](t, [1]notEqualToItself{{"a", nan}}, [1]notEqualToItself{})
	testRejection[any](t, notEqualToItself{"a", nan}, false)
	testRejection[any](t, [1]any{nan}, [1]any{})
}

// testRejection gives a queue a bad item in all ways, beside a good one.
func testRejection[T comparable](t *testing.T, bad, good T) {
	t.Run(fmt.Sprintf("%T", bad), func(t *testing.T) {
		forEachShardCount(t, func(t *testing.T, shards int) {
			var reported []shardq.Misuse[T]
			limiter := &countingLimiter[T]{}
			q := shardq.MustNew(shardq.Options[T]{
				Name: "numbers", Shards: shards, Clock: newFake(), RateLimiter: limiter,
				OnMisuse: func(m shardq.Misuse[T]) { reported = append(reported, m) },
			})
			q.Add(good)
			for _, add := range waysToAdd(q) {
				reported = nil
				add(bad)
				require.Len(t, reported, 1)
				require.Equal(t, "numbers", reported[0].Queue)
				require.Equal(t, shardq.ItemNotEqualToItself, reported[0].Kind)
				require.True(t, reported[0].Item != reported[0].Item, "another item was reported")
			}
			require.EqualValues(t, len(waysToAdd(q)), q.Stats().Rejected)
			require.Zero(t, limiter.asked, "the limiter was made to remember it")

			q.Done(bad)
			require.EqualValues(t, 1, q.Stats().Misused)
			q.Forget(bad)
			q.NumRequeues(bad)
			requireCounts(t, q, 1, 0, 0)
			require.True(t, take(t, q) == good)
			q.Done(good)
			requireCounts(t, q, 0, 0, 0)
		})
	})
}

// countingLimiter delays every item by an hour.
type countingLimiter[T comparable] struct{ asked, forgotten int }

func (l *countingLimiter[T]) When(T) time.Duration { l.asked++; return time.Hour }

func (l *countingLimiter[T]) Forget(T) { l.forgotten++ }

func (l *countingLimiter[T]) NumRequeues(T) int { return l.asked }

func TestC16H5UnhashableItem(t *testing.T) {
	bad := []any{[]int{1}, map[int]int{}, func() {}, [1]any{[]int{1}}, struct{ any }{[]int{1}}}
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		q := shardq.MustNew(shardq.Options[any]{Shards: shards, Clock: fake})
		for _, item := range bad {
			requireUnhashablePanics(t, q, item)
		}
		require.Zero(t, fake.Timers(), "left to the background")
		require.Equal(t, shardq.Stats{Shards: shards}, counts(q.Stats()))
		requireCycle(t, q, any("good"))
		q.AddRateLimited("good") // the limiter holds no lock
		require.Equal(t, 1, q.NumRequeues("good"))
		q.Forget("good")
	})
}

// requireUnhashablePanics checks that each call panics in its caller.
func requireUnhashablePanics(t *testing.T, q *shardq.Queue[any], item any) {
	t.Helper()
	for i, add := range waysToAdd(q) {
		require.Panics(t, func() { add(item) }, "%T, way %d", item, i)
	}
	require.Panics(t, func() { q.Done(item) })
}

// A Hash that accepts an unhashable item does not disable the check. The
// comparison within the shard would panic under its lock.
func TestC16H5UnhashableItemWithOwnHash(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		q := shardq.MustNew(shardq.Options[any]{
			Shards: shards, Clock: fake,
			Hash:        func(any) uint64 { return 0 },
			RateLimiter: &countingLimiter[any]{},
		})
		q.Add("other")
		for range 2 { // the second would be compared with the first
			requireUnhashablePanics(t, q, []int{1})
		}
		requireCounts(t, q, 1, 0, 0)
		takeItem(t, q, any("other"))
		q.Done("other")
		requireCycle(t, q, any("good"))
	})
}
