package contract

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/internal/testscale"
)

const tick = shardq.DefaultTick

// requireStillFalse checks that passed is false after all other goroutines of
// the bubble are blocked.
func requireStillFalse(t *testing.T, passed func() bool, why string) {
	synctest.Wait()
	require.False(t, passed(), why)
}

// requireBecomesTrue checks that passed is true after all other goroutines of
// the bubble are blocked.
func requireBecomesTrue(t *testing.T, passed func() bool) {
	synctest.Wait()
	require.True(t, passed())
}

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

// forEachShardCount runs a test with one shard, which has client-go's order,
// with the smallest number above that, and with a usual number.
func forEachShardCount(t *testing.T, test func(t *testing.T, shards int)) {
	for _, shards := range []int{1, 2, 16} {
		t.Run(fmt.Sprintf("shards=%d", shards), func(t *testing.T) { test(t, shards) })
	}
}

// forEachShardCountInBubble is forEachShardCount with each run in a synctest
// bubble of its own.
func forEachShardCountInBubble(t *testing.T, test func(t *testing.T, shards int)) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		synctest.Test(t, func(t *testing.T) { test(t, shards) })
	})
}

// A timeline is a queue's clock together with a way to let time pass on it.
// When pass returns, all delays that are due have expired.
type timeline struct {
	clock clock.Clock
	pass  func(time.Duration)
}

// forEachClock runs a test with a fake clock that is stepped, and with the real
// clock in a synctest bubble, for every shard count.
func forEachClock(t *testing.T, test func(t *testing.T, shards int, line timeline)) {
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

// bubbleTimeline must be called in a bubble.
func bubbleTimeline() timeline {
	return timeline{clock: clock.Real(), pass: func(d time.Duration) {
		time.Sleep(d)
		synctest.Wait()
	}}
}

func newFake() *clock.Fake {
	return clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
}

// newQueue returns a queue with default options, except for its shards.
func newQueue[T comparable](shards int) *shardq.Queue[T] {
	return shardq.MustNew(shardq.Options[T]{Shards: shards})
}

// take returns the next item, and fails where Get would block.
func take[T comparable](t *testing.T, q *shardq.Queue[T]) T {
	require.NotZero(t, q.Len(), "nothing is ready")
	item, shutdown := q.Get()
	require.False(t, shutdown, "shutdown with an item ready")
	return item
}

// takeItem takes the next item, which must be want.
func takeItem[T comparable](t *testing.T, q *shardq.Queue[T], want T) {
	require.Equal(t, want, take(t, q))
}

// takeAll takes all ready items, without Done.
func takeAll[T comparable](t *testing.T, q *shardq.Queue[T]) []T {
	var items []T
	for range q.Len() {
		item, shutdown := q.Get()
		require.False(t, shutdown, "shutdown with an item ready")
		items = append(items, item)
	}
	return items
}

// finishAll takes all ready items, and then calls Done of each.
func finishAll[T comparable](t *testing.T, q *shardq.Queue[T]) []T {
	items := takeAll(t, q)
	for _, item := range items {
		q.Done(item)
	}
	return items
}

// requireCycle adds, takes and ends an item, to check that a queue works.
func requireCycle[T comparable](t *testing.T, q *shardq.Queue[T], item T) {
	require.Zero(t, q.Len())
	q.Add(item)
	require.Equal(t, 1, q.Len())
	got := take(t, q)
	require.True(t, got == item, "added %v, got %v", item, got)
	require.Zero(t, q.Len())
	q.Done(item)
	requireCounts(t, q, 0, 0, 0)
}

// requireCounts checks the numbers of items by their states.
func requireCounts[T comparable](t testing.TB, q *shardq.Queue[T], ready, delayed, processing int) {
	stats := q.Stats()
	require.Equal(t, ready, stats.Ready, "ready")
	require.Equal(t, delayed, stats.Delayed, "delayed")
	require.Equal(t, processing, stats.Processing, "processing")
	require.Equal(t, ready, q.Len(), "Len")
}

// requireGetSaysShutdown checks that Get returns the zero T and true. In a
// bubble, a Get that blocks instead is a deadlock, which synctest reports.
func requireGetSaysShutdown[T comparable](t *testing.T, q *shardq.Queue[T]) {
	item, shutdown := q.Get()
	require.True(t, shutdown)
	require.Zero(t, item)
}

// together runs f in n goroutines that start at the same time, and waits for
// all of them.
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

// returned starts f in a goroutine. The function that it returns reports
// whether f has returned.
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

// scaled returns the size of a test: testscale.N(full). With -short, and under
// the race detector, which makes everything slow, it returns at most reduced.
func scaled(full, reduced int) int {
	n := testscale.N(full)
	if raceDetector || testing.Short() {
		return min(n, testscale.N(10*reduced))
	}
	return n
}

// numbers returns 0 to n-1.
func numbers(n int) []int {
	items := make([]int, n)
	for i := range items {
		items[i] = i
	}
	return items
}

func addAll[T comparable](q *shardq.Queue[T], items []T) {
	for _, item := range items {
		q.Add(item)
	}
}

// requireShutsDown checks that no lock is held and that no call blocks forever.
func requireShutsDown[T comparable](t *testing.T, q *shardq.Queue[T]) {
	q.ShutDownWithDrain()
	q.ShutDown()
	requireGetSaysShutdown(t, q)
	requireCounts(t, q, 0, 0, 0)
}
