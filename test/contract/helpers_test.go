package contract

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
)

// forEachShardCount runs a test for the one shard that is client-go's order, for
// the smallest number that has two of something, and for a usual number.
func forEachShardCount(t *testing.T, test func(t *testing.T, shards int)) {
	t.Helper()
	for _, shards := range []int{1, 2, 16} {
		t.Run(fmt.Sprintf("shards=%d", shards), func(t *testing.T) { test(t, shards) })
	}
}

// forEachShardCountInBubble is forEachShardCount with each run in a synctest
// bubble of its own.
func forEachShardCountInBubble(t *testing.T, test func(t *testing.T, shards int)) {
	t.Helper()
	forEachShardCount(t, func(t *testing.T, shards int) {
		synctest.Test(t, func(t *testing.T) { test(t, shards) })
	})
}

// A timeline is a queue's clock together with a way to let time pass on it. When
// pass returns, whatever the queue had to do about that time is done.
type timeline struct {
	clock clock.Clock
	pass  func(time.Duration)
}

// now returns the time on the queue's clock.
func (l timeline) now() time.Time { return l.clock.Now() }

// forEachClock runs a test with a fake clock that is stepped, and with the real
// clock in a synctest bubble, for every shard count.
func forEachClock(t *testing.T, test func(t *testing.T, shards int, line timeline)) {
	t.Helper()
	forEachShardCount(t, func(t *testing.T, shards int) {
		t.Run("clock=fake", func(t *testing.T) { test(t, shards, fakeTimeline()) })
		t.Run("clock=real", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, shards, bubbleTimeline()) })
		})
	})
}

func fakeTimeline() timeline {
	fake := newFake()
	return timeline{clock: fake, pass: fake.Step}
}

// bubbleTimeline is to be called in a bubble.
func bubbleTimeline() timeline {
	return timeline{clock: clock.Real(), pass: func(d time.Duration) {
		time.Sleep(d)
		synctest.Wait()
	}}
}

func newFake() *clock.Fake {
	return clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
}

// newQueue returns a queue that differs from the default in its shards alone.
func newQueue[T comparable](shards int) *shardq.Queue[T] {
	return shardq.Must(shardq.Options[T]{Shards: shards})
}

// newQueueOn returns a queue that keeps the time of a timeline.
func newQueueOn[T comparable](shards int, line timeline) *shardq.Queue[T] {
	return shardq.Must(shardq.Options[T]{Shards: shards, Clock: line.clock})
}

// take returns the next item, and fails where Get would block.
func take[T comparable](t *testing.T, q *shardq.Queue[T]) T {
	t.Helper()
	require.NotZero(t, q.Len(), "nothing is ready")
	item, shutdown := q.Get()
	require.False(t, shutdown, "shutdown with an item ready")
	return item
}

// takeItem takes the one item that is expected to be ready next.
func takeItem[T comparable](t *testing.T, q *shardq.Queue[T], want T) {
	t.Helper()
	require.Equal(t, want, take(t, q))
}

// takeAll takes everything that is ready. Nothing of it is Done.
func takeAll[T comparable](t *testing.T, q *shardq.Queue[T]) []T {
	t.Helper()
	var items []T
	for range q.Len() {
		item, shutdown := q.Get()
		require.False(t, shutdown, "shutdown with an item ready")
		items = append(items, item)
	}
	return items
}

// finishAll takes everything that is ready, and then ends it all.
func finishAll[T comparable](t *testing.T, q *shardq.Queue[T]) []T {
	t.Helper()
	items := takeAll(t, q)
	for _, item := range items {
		q.Done(item)
	}
	return items
}

// requireCycle sends an item all the way: the proof that a queue works.
func requireCycle[T comparable](t *testing.T, q *shardq.Queue[T], item T) {
	t.Helper()
	require.Zero(t, q.Len())
	q.Add(item)
	require.Equal(t, 1, q.Len())
	got := take(t, q)
	require.True(t, got == item, "added %v, got %v", item, got)
	require.Zero(t, q.Len())
	q.Done(item)
	requireCounts(t, q, 0, 0, 0)
}

// requireCounts checks what a queue holds.
func requireCounts[T comparable](t *testing.T, q *shardq.Queue[T], ready, waiting, processing int) {
	t.Helper()
	stats := q.Stats()
	require.Equal(t, ready, stats.Ready, "ready")
	require.Equal(t, waiting, stats.Waiting, "waiting")
	require.Equal(t, processing, stats.Processing, "processing")
	require.Equal(t, ready, q.Len(), "Len")
}

// requireGetSaysShutdown checks that Get returns the zero T and true. In a bubble a
// Get that blocks instead is found out.
func requireGetSaysShutdown[T comparable](t *testing.T, q *shardq.Queue[T]) {
	t.Helper()
	item, shutdown := q.Get()
	require.True(t, shutdown)
	require.Zero(t, item)
}

// together runs f in n goroutines that start at once, and waits for all of them.
func together(n int, f func(i int)) {
	var group sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		group.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	group.Wait()
}

// returned starts f in a goroutine and reports, whenever asked, whether it has
// returned.
func returned(f func()) func() bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	return func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
}

// scaled returns the size of a test: full, or a part of it where the race detector
// makes everything slow, or -short was asked for.
func scaled(full, reduced int) int {
	if raceDetector || testing.Short() {
		return reduced
	}
	return full
}

// million returns the size of a burst: a million for a usual number of shards, less
// where it would only take more time.
func million(shards int) int {
	if shards < 16 {
		return scaled(200_000, 50_000)
	}
	return scaled(1_000_000, 100_000)
}

// numbers returns 0 to n-1.
func numbers(n int) []int {
	items := make([]int, n)
	for i := range items {
		items[i] = i
	}
	return items
}

// counts returns the stats without what is looked up or measured.
func counts(stats shardq.Stats) shardq.Stats {
	stats.PerShard, stats.Metrics, stats.NextDue = nil, nil, time.Time{}
	stats.Capacity, stats.Limited, stats.Parked, stats.Workers, stats.ShuttingDown = 0, 0, 0, 0, false
	return stats
}
