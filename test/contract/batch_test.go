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
	"github.com/shardq/shardq/stats"
)

// batchSizes are around the number of items that the queue handles together.
var batchSizes = []int{0, 1, 2, 63, 64, 65, 1000}

func TestC37BatchesAreAsManyCalls(t *testing.T) {
	for _, shards := range []int{1, 2, 64, 65, 200} {
		for _, n := range batchSizes {
			q := newQueue[int](shards)
			items := numbers(n)
			q.AddBatch(items, shardq.AddOptions{})
			q.AddBatch(items, shardq.AddOptions{}) // deduplicated
			requireCounts(t, q, n, 0, 0)
			require.EqualValues(t, n, q.Stats().Deduplicated)
			dst := make([]int, n+1)
			for got := 0; got < n; {
				more, err := getBatch(q, t.Context(), dst[got:])
				require.NoError(t, err)
				require.Positive(t, more)
				got += more
			}
			require.ElementsMatch(t, items, dst[:n])
			q.AddBatch(items[:n/2], shardq.AddOptions{})
			doneBatch(q, items)
			requireCounts(t, q, n/2, 0, 0)
			doneBatch(q, items)
			require.EqualValues(t, n, q.Stats().Misused)
		}
	}
}

// With one shard the order is exact, whatever the batches.
func TestC37OrderOfBatches(t *testing.T) {
	q := newQueue[int](1)
	q.AddBatch([]int{5, 3, 5, 9}, shardq.AddOptions{})
	q.Add(1)
	q.AddBatch(numbers(200), shardq.AddOptions{})
	dst := make([]int, 300)
	n, err := getBatch(q, t.Context(), dst)
	require.NoError(t, err)
	want := []int{5, 3, 9, 1}
	for i := range 200 {
		if !slices.Contains(want[:4], i) {
			want = append(want, i)
		}
	}
	require.Equal(t, want, dst[:n])
}

func TestC37GetBatchTakesWhatIsThere(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		dst := make([]int, 10)
		n, err := 0, error(nil)
		got := returned(func() { n, err = getBatch(q, t.Context(), dst) })
		requireStillFalse(t, got, "nothing is ready")
		q.Add(7)
		requireBecomesTrue(t, got)
		require.NoError(t, err)
		require.Equal(t, []int{7}, dst[:n])

		q.AddBatch(numbers(5), shardq.AddOptions{})
		n, err = getBatch(q, t.Context(), dst)
		require.NoError(t, err)
		require.ElementsMatch(t, numbers(5), dst[:n])
	})
}

func TestC37GetBatchEnds(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		dst := make([]int, 10)
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 2)
		go func() { _, err := getBatch(q, ctx, dst[:5]); errs <- err }()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-errs, context.Canceled)
		go func() { _, err := getBatch(q, t.Context(), dst[5:]); errs <- err }()
		synctest.Wait()
		q.ShutDown()
		require.ErrorIs(t, <-errs, shardq.ErrShutDown)
		n, err := getBatch(q, t.Context(), nil)
		require.NoError(t, err, "no item fits")
		require.Zero(t, n)
		require.Zero(t, slices.Max(dst))
	})
}

// A consumer whose context has ended takes nothing, however many items are
// ready.
func TestC37EndedContextTakesNothing(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		q.AddBatch(numbers(5), shardq.AddOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		n, err := getBatch(q, ctx, make([]int, 10))
		require.ErrorIs(t, err, context.Canceled)
		require.Zero(t, n)
		requireCounts(t, q, 5, 0, 0)
	})
}

// GetBatch visits the shards as many Gets would: while both have ready items,
// neither hands out more than a quantum in its turn.
func TestC37BatchKeepsTheTurnsOfShards(t *testing.T) {
	const quantum = 8
	q := newQueue[int](2)
	q.AddBatch(numbers(200), shardq.AddOptions{})
	shardOf, left := map[int]int{}, [2]int{}
	for row := range q.All(stats.Ready) {
		shardOf[row.Item] = row.Shard
		left[row.Shard]++
	}
	dst := make([]int, 200)
	n, err := getBatch(q, t.Context(), dst)
	require.NoError(t, err)
	require.Equal(t, 200, n)
	for i, turn := 0, 0; min(left[0], left[1]) > 0; i++ {
		number := shardOf[dst[i]]
		if i > 0 && number != shardOf[dst[i-1]] {
			turn = 0
		}
		turn++
		require.LessOrEqual(t, turn, quantum)
		left[number]--
	}
}

// parkConsumers starts consumers, which park, and returns a function that
// returns what they got.
func parkConsumers(q *shardq.Queue[int], n int) (got func() []int) {
	var mu sync.Mutex
	var seen []int
	for range n {
		go func() {
			item, _ := q.Get()
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, item)
		}()
	}
	synctest.Wait()
	return func() []int {
		synctest.Wait()
		return seen
	}
}

// One batch wakes as many consumers as there is work for.
func TestC37BatchWakesAll(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		got := parkConsumers(q, 20)
		q.AddBatch(numbers(20), shardq.AddOptions{})
		require.ElementsMatch(t, numbers(20), got())
	})
}

// It wakes a consumer for any of its items, also if the last of them is
// deduplicated.
func TestC37BatchWakesForAny(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		got := parkConsumers(q, 1)
		q.AddBatch([]int{1, 1}, shardq.AddOptions{})
		require.Equal(t, []int{1}, got())
	})
}

// So does one DoneBatch of dirty items.
func TestC37DoneBatchWakesAll(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		q.AddBatch(numbers(20), shardq.AddOptions{})
		items := takeAll(t, q)
		q.AddBatch(items, shardq.AddOptions{})
		got := parkConsumers(q, 20)
		doneBatch(q, items)
		require.ElementsMatch(t, numbers(20), got())
	})
}

func TestC37DoneBatchEndsADrain(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		q.AddBatch(numbers(10), shardq.AddOptions{})
		items := takeAll(t, q)
		drained := returned(q.ShutDownWithDrain)
		doneBatch(q, items[:9])
		requireStillFalse(t, drained, "one is in processing")
		doneBatch(q, items[9:])
		requireBecomesTrue(t, drained)
	})
}

func TestC37MisuseInBatches(t *testing.T) {
	var reported []shardq.Misuse[float64]
	q := shardq.MustNew(shardq.Options[float64]{
		Shards: 2, OnMisuse: func(m shardq.Misuse[float64]) { reported = append(reported, m) },
	})
	q.AddBatch([]float64{1, math.NaN(), 2}, shardq.AddOptions{})
	requireCounts(t, q, 2, 0, 0)
	require.Len(t, reported, 1)
	require.Equal(t, shardq.ItemNotEqualToItself, reported[0].Kind)
	doneBatch(q, []float64{1, 7})
	require.Equal(t, []shardq.Misuse[float64]{
		{Kind: shardq.DoneWithoutGet, Item: 1}, {Kind: shardq.DoneWithoutGet, Item: 7},
	}, reported[1:])
}

func TestC37BatchOfIncomparableItems(t *testing.T) {
	q := newQueue[any](2)
	require.Panics(t, func() { q.AddBatch([]any{1, []int{}}, shardq.AddOptions{}) })
	require.Panics(t, func() { doneBatch(q, []any{[]int{}}) })
	requireCounts(t, q, 0, 0, 0)
	q.Add(1)
	require.Equal(t, 1, take(t, q), "nothing is left locked")
}

// TestC37AddBatchAfter checks that all items of a batch become ready when the
// delay expires, in their order. Without a delay they are ready at once. After
// a shutdown they are dropped.
func TestC37AddBatchAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := shardq.MustNew(shardq.Options[int]{Shards: 1})
		q.AddBatch(numbers(200), shardq.AddOptions{After: time.Second})
		q.AddBatch([]int{1000, 1001}, shardq.AddOptions{After: 0})
		q.AddBatch(nil, shardq.AddOptions{After: time.Second})
		require.Equal(t, 2, q.Len())
		require.EqualValues(t, 200, q.Stats().Delayed)
		time.Sleep(time.Second - 1)
		synctest.Wait()
		require.Equal(t, 2, q.Len())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Equal(t, 202, q.Len())
		items := make([]int, 300)
		n, err := getBatch(q, t.Context(), items)
		require.NoError(t, err)
		require.Equal(t, append([]int{1000, 1001}, numbers(200)...), items[:n])
		doneBatch(q, items[:n])
		q.ShutDown()
		q.AddBatch(numbers(10), shardq.AddOptions{After: time.Second})
		require.EqualValues(t, 10, q.Stats().Dropped)
	})
}
