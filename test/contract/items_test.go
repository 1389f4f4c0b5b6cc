package contract

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

// A queue of any stands for all types: the compiler makes a queue for each
// type, which takes it seconds.
type anyQueue = *shardq.Queue[any]

// anyItems are items of all kinds, for models.
var anyItems = []any{nil, "", struct{}{}, new(int), 0, named{"a", 1}, [0]int{}, (*int)(nil)}

// testItems sends distinct items through every state of a queue.
func testItems(t *testing.T, items ...any) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		q := shardq.MustNew(shardq.Options[any]{Shards: shards, Clock: fake})
		addAll(q, items)
		addAll(q, items)
		requireExactly(t, items, takeAll(t, q))

		addAll(q, items) // dirty
		requireCounts(t, q, 0, 0, len(items))
		var seen []any
		for _, row := range q.Snapshot(len(items)).Processing {
			seen = append(seen, row.Item)
		}
		requireExactly(t, items, seen)
		for _, item := range items {
			q.Done(item)
		}
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
		require.Equal(t, [2]uint64{0, 0}, [2]uint64{uint64(q.Stats().Held), q.Stats().Misused})
	})
}

// requireExactly checks that got holds each of the wanted items once, by ==.
func requireExactly[T comparable](t *testing.T, want, got []T) {
	t.Helper()
	require.Len(t, got, len(want))
	found := map[T]bool{}
	for _, item := range got {
		found[item] = true
	}
	for _, item := range want {
		require.True(t, found[item], "%#v is missing", item)
	}
}

// H7: the zero value, "" and nil are items like any other.
func TestC9H7AnyComparableType(t *testing.T) {
	type request struct{ namespace, name string }
	testItems(t, nil, (*request)(nil), new(int), new(int), fmt.Errorf("a"), fmt.Errorf("a"), make(chan int),
		"", "a", "\x00", "a\x00", 0, -1, math.MaxInt, math.MinInt, int64(0), uint8(0), 0.0, 1.5, math.Inf(1), math.Inf(-1),
		float32(0), time.Duration(0), 0i, 1i, false, struct{}{}, request{}, request{"a", ""}, request{"", "a"},
		[2]string{}, [2]string{"a"}, [2]string{"", "a"}, [1]any{nil}, [1]any{0})
}

// A nil is an item of interface types only.
func TestC82ItemOfAnotherType(t *testing.T) {
	q := newQueue[int](1)
	q.AddAfter(0, time.Hour)
	for _, other := range []any{nil, int64(0), "", (*int)(nil)} {
		_, found := q.Inspect().Lookup(other)
		operator := q.Inspect().Operator()
		require.False(t, found || operator.RetryNow(other) || operator.Cancel(other).Any(), "%T", other)
	}
}

func TestC45PrioritiesInStats(t *testing.T) {
	q := newQueue[int](1)
	for n := range 257 {
		require.Len(t, q.Stats().Priorities, n)
		q.AddWith(n, shardq.AddOptions{Priority: n + 1})
	}
	require.Nil(t, q.Stats().Priorities, "more than a hold of the shard should count")
}

type named struct {
	name  string
	value float64
}

// H6: +0 and -0 are one item wherever an item is named.
func TestC9H6NegativeZeroIsZero(t *testing.T) {
	negative := math.Copysign(0, -1)
	for _, pair := range [][2]any{
		{0.0, negative}, {0i, complex(negative, negative)}, {[2]float64{}, [2]float64{negative, 0}}, {named{}, named{value: negative}},
	} {
		a, b := pair[0], pair[1]
		q := newQueue[any](2)
		q.Add(a)
		q.Add(b)
		requireCounts(t, q, 1, 0, 0)
		found, _ := q.Lookup(b)
		inspected, _ := q.Inspect().Lookup(b)
		require.Equal(t, fmt.Sprint(a, a), fmt.Sprint(found.Item, inspected.Item), "the item that is held")
		q.AddAfter(a, time.Hour)
		q.AddAfter(b, time.Hour)
		take(t, q)
		q.Add(b)
		q.Done(b)
		requireCounts(t, q, 1, 1, 0)
		q.AddRateLimited(a)
		q.AddRateLimited(b)
		require.Equal(t, 2, q.NumRequeues(a))
		q.Forget(b)
		require.Zero(t, q.NumRequeues(a))
	}
}

func waysToAdd(q anyQueue) []func(any) {
	delayed := func(d time.Duration) func(any) { return func(item any) { q.AddAfter(item, d) } }
	return []func(any){
		q.Add, q.AddRateLimited, delayed(time.Hour), delayed(time.Nanosecond), delayed(0), delayed(math.MinInt64), delayed(math.MaxInt64),
		func(item any) { q.AddWith(item, shardq.AddOptions{NotAgainWithin: time.Hour}) },
		func(item any) { q.AddBatch([]any{item}, shardq.AddOptions{}) },
		func(item any) { _ = q.TryAdd(item, shardq.AddOptions{}) },
	}
}

// askedLimiter delays every item by an hour.
type askedLimiter struct{ asked int }

func (l *askedLimiter) When(any) time.Duration { l.asked++; return time.Hour }
func (l *askedLimiter) Forget(any)             {}
func (l *askedLimiter) NumRequeues(any) int    { return l.asked }

// H4: an item that is not equal to itself is rejected, and reported.
func TestC16H4ItemNotEqualToItself(t *testing.T) {
	nan := math.NaN()
	for _, bad := range []any{nan, float32(nan), complex(1, nan), [2]float64{0, nan}, named{"a", nan}, [1]named{{"a", nan}}, [1]any{nan}} {
		for _, shards := range []int{1, 16} {
			var reported []shardq.Misuse[any]
			limiter := &askedLimiter{}
			q := shardq.MustNew(shardq.Options[any]{
				Name: "numbers", Shards: shards, Clock: newFake(), RateLimiter: limiter,
				OnMisuse: func(m shardq.Misuse[any]) { reported = append(reported, m) },
			})
			q.Add("good")
			for _, add := range waysToAdd(q) {
				reported = nil
				add(bad)
				require.Len(t, reported, 1)
				require.Equal(t, shardq.ItemNotEqualToItself, reported[0].Kind)
				require.True(t, reported[0].Item != reported[0].Item, "another item was reported")
			}
			require.ErrorIs(t, q.TryAdd(bad, shardq.AddOptions{}), shardq.ErrRejected)
			require.EqualValues(t, len(waysToAdd(q))+1, q.Stats().Rejected)
			require.Zero(t, limiter.asked, "the limiter was made to remember it")
			q.Done(bad)
			require.EqualValues(t, 1, q.Stats().Misused)
			requireCounts(t, q, 1, 0, 0)
			takeItem(t, q, any("good"))
		}
	}
}

// H5: an item that cannot be hashed panics in its caller, also with a Hash that
// accepts it. The comparison within the shard would panic under its lock.
func TestC16H5UnhashableItem(t *testing.T) {
	for _, hash := range []func(any) uint64{nil, func(any) uint64 { return 0 }} {
		for _, bad := range []any{[]int{1}, map[int]int{}, func() {}, [1]any{[]int{1}}, struct{ any }{[]int{1}}} {
			fake := newFake()
			q := shardq.MustNew(shardq.Options[any]{Shards: 2, Clock: fake, Hash: hash, RateLimiter: &askedLimiter{}})
			q.Add("other")
			for i, add := range waysToAdd(q) {
				require.Panics(t, func() { add(bad) }, "%T, way %d", bad, i)
			}
			require.Panics(t, func() { q.AddBatch([]any{"before", bad}, shardq.AddOptions{}) })
			require.Panics(t, func() { q.Done(bad) })
			require.Zero(t, fake.Timers(), "left to the background")
			finishAll(t, q)
			requireCycle(t, q, any("good"))
		}
	}
}
