package contract

import (
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// workersOf returns the workers that have items in flight, by the items.
func workersOf[T comparable](q interface {
	Snapshot(limit int) shardq.Snapshot[T]
}) map[T]int {
	found := map[T]int{}
	for _, row := range q.Snapshot(100).Processing {
		found[row.Item] = row.Worker
	}
	return found
}

// TestC43WorkerOfAnItem checks that, with metrics, a Snapshot says which worker
// has an item, and that the profile labels have the same number. An item that a
// caller of Get has belongs to no worker.
func TestC43WorkerOfAnItem(t *testing.T) {
	for _, metrics := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			q := shardq.MustNew(shardq.Options[string]{Name: "mail", Metrics: metrics})
			q.Add("mine")
			takeItem(t, q, "mine")
			finish := make(chan struct{})
			s := startPool(t, q, worker.Options[string]{Workers: 3, Labels: true, Handle: func(context.Context, string) error {
				<-finish
				return nil
			}})
			q.AddBatch([]string{"a", "b", "c"}, shardq.AddOptions{})
			synctest.Wait()
			require.Equal(t, 3, q.Stats().Workers)
			workers := workersOf(q)
			require.Zero(t, workers["mine"])
			delete(workers, "mine")
			numbers := []int{workers["a"], workers["b"], workers["c"]}
			slices.Sort(numbers)
			if metrics {
				require.Equal(t, []int{1, 2, 3}, numbers)
			} else {
				require.Equal(t, []int{0, 0, 0}, numbers)
			}
			for number := 1; number <= 3; number++ {
				require.Contains(t, goroutinesWithLabels(t), fmt.Sprintf(`"worker":"%d"`, number))
			}
			close(finish)
			synctest.Wait()
			require.Equal(t, map[string]int{"mine": 0}, workersOf(q))
			s.stop()
			synctest.Wait()
			require.True(t, s.ended())
			require.Zero(t, q.Stats().Workers)
		})
	}
}

// TestC43WorkerOfABatch checks that a worker has all items of its batch, until
// they are Done.
func TestC43WorkerOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := shardq.MustNew(shardq.Options[string]{Metrics: true, Shards: 1})
		q.AddBatch([]string{"a", "b", "c"}, shardq.AddOptions{})
		finish := make(chan struct{})
		startPool(t, q, worker.Options[string]{BatchSize: 2, HandleBatch: func(_ context.Context, items []string) []error {
			<-finish
			return nil
		}})
		synctest.Wait()
		require.Equal(t, map[string]int{"a": 1, "b": 1}, workersOf(q))
		finish <- struct{}{}
		synctest.Wait()
		require.Equal(t, map[string]int{"c": 1}, workersOf(q))
		close(finish)
		synctest.Wait()
		require.Empty(t, workersOf(q))
	})
}

// TestC43WorkerOfAKey checks that a coalescer's workers show their keys.
func TestC43WorkerOfAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTexts(func(o *coalesce.Options[string, string]) { o.Queue.Metrics = true })
		finish := make(chan struct{})
		startTextPool(t, c, worker.Options[text]{Handle: func(context.Context, text) error {
			<-finish
			return nil
		}})
		require.NoError(t, c.Put("key", "value"))
		synctest.Wait()
		require.Equal(t, map[string]int{"key": 1}, workersOf(c.Queue()))
		require.Equal(t, 1, c.Queue().Stats().Workers)
		close(finish)
		synctest.Wait()
		require.Empty(t, workersOf(c.Queue()))
	})
}

// TestC43WorkerThatLeaves checks that a worker that a handler ends, or that a
// resize removes, has no slot any more. No other worker gets its number.
func TestC43WorkerThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := shardq.MustNew(shardq.Options[string]{Metrics: true})
		finish := make(chan struct{})
		s := startPool(t, q, worker.Options[string]{MaxAttempts: 1, Handle: func(_ context.Context, item string) error {
			if item == "goexit" {
				runtime.Goexit()
			}
			if item == "panic" {
				panic("on purpose")
			}
			<-finish
			return nil
		}})
		q.Add("panic")
		synctest.Wait()
		q.Add("a")
		synctest.Wait()
		require.Equal(t, map[string]int{"a": 1}, workersOf(q))
		finish <- struct{}{}
		q.Add("goexit")
		synctest.Wait()
		require.EqualValues(t, 2, q.Stats().Discarded)
		require.Equal(t, 1, q.Stats().Workers)
		q.Add("b")
		synctest.Wait()
		after := workersOf(q)["b"]
		require.Positive(t, after)
		s.Resize(4)
		synctest.Wait()
		require.Equal(t, 4, q.Stats().Workers)
		q.Add("c")
		synctest.Wait()
		require.Greater(t, workersOf(q)["c"], after)
		s.Resize(1)
		close(finish)
		synctest.Wait()
		require.Equal(t, 1, q.Stats().Workers)
		require.Empty(t, workersOf(q))
	})
}

// TestInspectors checks that a queue, its view and that of a coalescer return
// the same, for items of any type.
func TestInspectors(t *testing.T) {
	q := shardq.MustNew(shardq.Options[int]{Name: "numbers", Shards: 2, Capacity: 9, Metrics: true, Clock: newFake(),
		Group: func(item int) string { return fmt.Sprint(item % 2) }})
	c := newTexts()
	q.AddBatch([]int{1, 2, 3}, shardq.AddOptions{})
	_ = take(t, q)
	q.AddRateLimited(4)
	q.AddRateLimited(4)
	require.NoError(t, c.Put("key", "value"))
	for _, o := range []shardq.Inspector{q, q} {
		assert.Equal(t, "numbers", o.Name())
		assert.Equal(t, q.Stats(), o.Stats())
		assert.Equal(t, q.Inspect().Configuration(), o.Inspect().Configuration())
		assert.Equal(t, []limiter.Failed[any]{{Item: 4, Failures: 2}}, o.Inspect().MostRetried(5))
		assert.Empty(t, o.Inspect().MostRetried(0))
		assert.Empty(t, o.Inspect().MostRetried(-1))
		inspected, exact := o.Inspect().Snapshot(10), q.Snapshot(10)
		assert.Equal(t, exact.Time, inspected.Time)
		assert.Equal(t, exact.Stats, inspected.Stats)
		for i, pair := range [][2]int{{len(exact.Processing), len(inspected.Processing)}, {len(exact.Ready), len(inspected.Ready)}, {len(exact.Delayed), len(inspected.Delayed)}} {
			assert.Equal(t, []int{1, 2, 1}[i], pair[0])
			assert.Equal(t, pair[0], pair[1])
		}
		for i, row := range inspected.Ready {
			want := exact.Ready[i]
			assert.Equal(t, want.Any(), row)
			assert.Equal(t, want.Item, row.Item)
			assert.Equal(t, want.Group, row.Group)
			assert.Equal(t, want.Since, row.Since)
		}
		assert.Equal(t, any(4), inspected.Delayed[0].Item)
		assert.Equal(t, 2, inspected.Delayed[0].Attempts)
		groups := slices.Collect(o.Groups())
		assert.Len(t, groups, 2)
		assert.EqualValues(t, 1, o.Inspect().TimeLeft().Count)
		assert.Nil(t, o.Stats().Values)
	}
	var keys shardq.Inspector = c.Queue()
	assert.Equal(t, "texts", keys.Name())
	assert.Equal(t, any("key"), keys.Inspect().Snapshot(1).Ready[0].Item)
	assert.Nil(t, keys.Stats().Metrics)
	assert.Equal(t, stats.Values{Keys: 1, Weight: 1, Put: 1}, *keys.Stats().Values)
	assert.Equal(t, keys.Stats().Values, keys.Inspect().Snapshot(1).Stats.Values)
}

// TestConfiguration checks that a queue returns its options, with the defaults.
func TestConfiguration(t *testing.T) {
	all := shardq.MustNew(shardq.Options[int]{Name: "n", Shards: 3, Capacity: 4, LowPriorityInterval: 5, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: 6} }, Tick: 7,
		StuckAfter: 8, OnStuck: func(stats.Item[int]) {}, Group: func(int) string { return "" }, Clock: newFake()}).Inspect().Configuration()
	assert.Equal(t, stats.Configuration{Name: "n", Item: "int", Shards: 3, Capacity: 4, LowPriorityInterval: 5, Tick: 7,
		StuckAfter: 8, Routing: "group", Groups: true, Ages: true, Limiter: all.Limiter, Clock: "*clock.Fake", Created: all.Created}, all)
	zero := shardq.MustNew(shardq.Options[string]{}).Inspect().Configuration()
	assert.Positive(t, zero.Shards)
	assert.Equal(t, stats.Configuration{Item: "string", Shards: zero.Shards, Tick: shardq.DefaultTick, Routing: "seeded hash", Limiter: zero.Limiter, Clock: "real", Created: zero.Created}, zero)
	assert.WithinRange(t, zero.Created, all.Created, time.Now())
	assert.True(t, strings.HasPrefix(zero.Limiter, "*limiter."), zero.Limiter)
	assert.Equal(t, "stable hash", shardq.MustNew(shardq.Options[string]{StableRouting: true}).Inspect().Configuration().Routing)
	assert.Equal(t, "hash function", shardq.MustNew(shardq.Options[string]{Hash: func(string) uint64 { return 0 }}).Inspect().Configuration().Routing)
	assert.Equal(t, "interface {}", shardq.MustNew(shardq.Options[any]{}).Inspect().Configuration().Item)
	metrics := shardq.MustNew(shardq.Options[string]{Metrics: true}).Inspect().Configuration()
	assert.True(t, metrics.Ages && metrics.Metrics)
}

// TestC33MetricsAddUpUnderConcurrency checks that each Get and each right Done
// is counted once, beside all other calls, and that nothing is left.
func TestC33MetricsAddUpUnderConcurrency(t *testing.T) {
	const goroutines, keys = 8, 20
	rounds := scaled(20_000, 2_000)
	q := shardq.MustNew(shardq.Options[int]{Shards: 4, Metrics: true})
	var gets, dones, retries, canceled atomic.Uint64
	consume := func() {
		for {
			item, shutdown := q.Get()
			if shutdown {
				return
			}
			gets.Add(1)
			if item%7 == 0 {
				q.Add(item) // dirty
			}
			q.Done(item)
			dones.Add(1)
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		together(goroutines, func(int) { consume() })
	}()
	together(goroutines, func(i int) {
		for n := range rounds {
			item := (n*13+i)%keys + 1
			switch n % 8 {
			case 0:
				q.AddAfter(item, 1)
				retries.Add(1)
			case 1:
				if q.Cancel(item).Any() {
					canceled.Add(1)
				}
			case 2:
				q.Stats()
			default:
				q.Add(item)
			}
		}
	})
	for item := range keys {
		if (item+1)%7 == 0 {
			q.Cancel(item + 1) // or it would be added forever
		}
	}
	q.ShutDown() // from now on, nothing is added
	<-ended
	stats := q.Stats()
	m := stats.Metrics
	require.Equal(t, gets.Load(), m.QueueDuration.Count)
	require.Equal(t, dones.Load(), m.WorkDuration.Count)
	require.Equal(t, gets.Load(), dones.Load())
	require.Equal(t, retries.Load(), m.Retries)
	require.LessOrEqual(t, m.Delay.Count, retries.Load())
	require.Zero(t, [5]int{m.Depth, m.Dirty, stats.Ready, stats.Processing, stats.Held})
	require.Zero(t, stats.Misused)
	require.GreaterOrEqual(t, stats.Added, gets.Load())
	require.LessOrEqual(t, stats.Added, gets.Load()+stats.Canceled)
}

// TestC33WorkersCountRetries checks that a failure that is retried counts as a
// retry with backoff. One that is discarded counts as that, and is no retry.
func TestC33WorkersCountRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := shardq.MustNew(shardq.Options[string]{Metrics: true})
		s := startPool(t, q, worker.Options[string]{MaxAttempts: 3, Handle: func(context.Context, string) error { return errOnPurpose }})
		q.Add("a")
		time.Sleep(time.Minute) // in a bubble
		synctest.Wait()
		require.Len(t, s.discarded, 1)
		stats := q.Stats()
		require.EqualValues(t, 2, stats.Metrics.Retries)
		require.EqualValues(t, 2, stats.Metrics.Backoffs)
		require.EqualValues(t, 2, stats.Metrics.Delay.Count)
		require.EqualValues(t, 3, stats.Metrics.WorkDuration.Count)
		require.EqualValues(t, 1, stats.Discarded)
		require.Zero(t, stats.Limited)
	})
}

// TestLabelsOutliveThoseOfAHandler checks that code that a handler runs with
// pprof.Do has the worker's label, too, and so have later items.
func TestLabelsOutliveThoseOfAHandler(t *testing.T) {
	q := shardq.MustNew(shardq.Options[int]{Shards: 1, Name: "q"})
	q.AddBatch([]int{1, 2}, shardq.AddOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	w, err := worker.New(q, worker.Options[int]{Workers: 1, Labels: true, Handle: func(ctx context.Context, item int) error {
		profile := goroutinesWithLabels(t)
		require.Contains(t, profile, `"worker":"1"`)
		pprof.Do(ctx, pprof.Labels("step", "one"), func(ctx context.Context) {
			number, _ := pprof.Label(ctx, "worker")
			require.Equal(t, "1", number)
		})
		pprof.SetGoroutineLabels(context.Background())
		if item == 2 {
			cancel()
		}
		return nil
	}})
	require.NoError(t, err)
	require.NoError(t, w.Run(ctx))
}
