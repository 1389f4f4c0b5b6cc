package bench_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/workload"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/worker"
)

// brief is the length of a delay or a window that ends before the round of its
// key does.
const brief = time.Millisecond

// inRounds calls round with all keys, or with the first of them, until b.N keys
// have passed. It calls round once before the measurement.
func inRounds(b *testing.B, keys []string, round func(keys []string)) {
	round(keys)
	b.ReportAllocs()
	b.ResetTimer()
	for left := b.N; left > 0; left -= len(keys) {
		round(keys[:min(left, len(keys))])
	}
}

// BenchmarkQueueFeatures measures windows, and batches with options, beside not
// using them, in one goroutine. The first feature of each kind of work is none.
func BenchmarkQueueFeatures(b *testing.B) {
	ctx := context.Background()
	inWindows := func(length time.Duration) func(q *shardq.Queue[string], keys []string) {
		return func(q *shardq.Queue[string], keys []string) {
			for _, key := range keys {
				if q.TryAddWith(key, shardq.AddOptions{NotAgainWithin: length}) == nil {
					item, _ := q.Get()
					q.Done(item)
				}
			}
		}
	}
	taken := make([]string, 64)
	takeAll := func(q *shardq.Queue[string], n int) {
		for n > 0 {
			got, _ := q.GetBatch(ctx, taken)
			q.DoneBatch(taken[:got])
			n -= got
		}
	}
	nothing := func(*shardq.Queue[string], []string) {}
	addReady := func(q *shardq.Queue[string], keys []string) { q.AddBatch(keys) }
	for _, way := range []struct {
		work, feature string
		keys          int
		prepare       func(q *shardq.Queue[string], keys []string)
		round         func(q *shardq.Queue[string], keys []string)
	}{
		{"cycle", "none", 64_000, nothing, plain},
		{"cycle", "window", 64_000, nothing, inWindows(brief)},
		{"cycle", "open window,ignored", 64_000, inWindows(time.Hour), plain},
		{"add without effect", "none", 1000, addReady, func(q *shardq.Queue[string], keys []string) {
			for _, key := range keys {
				q.Add(key)
			}
		}},
		{"add without effect", "window", 1000, inWindows(time.Hour), inWindows(time.Hour)},
		{"batches", "none", 1000, nothing, func(q *shardq.Queue[string], keys []string) {
			q.AddBatch(keys)
			takeAll(q, len(keys))
		}},
		{"batches", "AddBatchWith", 1000, nothing, func(q *shardq.Queue[string], keys []string) {
			q.AddBatchWith(keys, shardq.AddOptions{})
			takeAll(q, len(keys))
		}},
		{"batches", "AddBatchWith,Priority", 1000, nothing, func(q *shardq.Queue[string], keys []string) {
			q.AddBatchWith(keys, shardq.AddOptions{Priority: 1})
			takeAll(q, len(keys))
		}},
	} {
		b.Run(fmt.Sprintf("work=%s/feature=%s", way.work, way.feature), func(b *testing.B) {
			q := shardq.MustNew(shardq.Options[string]{})
			defer q.ShutDown()
			keys := workload.Shuffled(workload.Strings(way.keys))
			way.prepare(q, keys)
			inRounds(b, keys, func(keys []string) { way.round(q, keys) })
		})
	}
}

// BenchmarkCoalescerFeatures measures values with each feature of a Coalescer
// beside not using it, in one goroutine. The first feature of each kind of work
// is none.
func BenchmarkCoalescerFeatures(b *testing.B) {
	type values = coalesce.Coalescer[string, int]
	ctx := context.Background()
	take := func(c *values) {
		key, _, _ := c.Take(ctx)
		c.Done(key)
	}
	put := func(c *values, key string) { _ = c.Put(key, 1) }
	putWith := func(options coalesce.PutOptions) func(c *values, key string) {
		return func(c *values, key string) { _ = c.PutWith(key, 1, options) }
	}
	// one takes the values one after the other, and late takes them when all
	// were put.
	one := func(put func(c *values, key string)) func(c *values, keys []string) {
		return func(c *values, keys []string) {
			for _, key := range keys {
				put(c, key)
				take(c)
			}
		}
	}
	late := func(put func(c *values, key string)) func(c *values, keys []string) {
		return func(c *values, keys []string) {
			for _, key := range keys {
				put(c, key)
			}
			for range keys {
				take(c)
			}
		}
	}
	twice := func(c *values, key string) { put(c, key); put(c, key) }
	peeked := func(c *values, key string) { put(c, key); _, _ = c.Peek(key) }
	type options = coalesce.Options[string, int]
	for _, way := range []struct {
		work, feature string
		keys          int
		options       options
		round         func(c *values, keys []string)
	}{
		{"cycle", "none", 1000, options{}, one(put)},
		{"cycle", "Readable", 1000, options{Readable: true}, one(put)},
		{"cycle", "Readable,Peek", 1000, options{Readable: true}, one(peeked)},
		{"cycle", "PutWith", 1000, options{}, one(putWith(coalesce.PutOptions{}))},
		{"cycle", "PutWith,Priority", 1000, options{}, one(putWith(coalesce.PutOptions{Priority: 1}))},
		{"two puts", "none", 1000, options{}, one(twice)},
		{"two puts", "LingerValues", 1000, options{Linger: time.Hour, LingerValues: 2}, one(twice)},
		{"taken late", "none", 16_000, options{}, late(put)},
		{"taken late", "Linger", 16_000, options{Linger: brief}, late(put)},
		{"taken late", "PutWith,Delay", 16_000, options{}, late(putWith(coalesce.PutOptions{Delay: brief}))},
	} {
		b.Run(fmt.Sprintf("work=%s/feature=%s", way.work, way.feature), func(b *testing.B) {
			way.options.Merge = sum
			c := coalesce.MustNew(way.options)
			defer c.ShutDown()
			keys := workload.Shuffled(workload.Strings(way.keys))
			inRounds(b, keys, func(keys []string) { way.round(c, keys) })
		})
	}
}

var errAttempt = errors.New("the attempt has failed")

// runFailing runs attempts that fail, each of which makes its key ready again
// without a delay.
func runFailing(t *traffic, workers int) {
	w, err := worker.New(t.queue, worker.Options[string]{
		Workers: workers,
		Handle: func(context.Context, string) error {
			if t.left.Add(-1) == 0 {
				t.queue.ShutDown()
			}
			return errAttempt
		},
	})
	if err == nil {
		err = w.Run(context.Background())
	}
	if err != nil {
		panic(err)
	}
}

// withoutDelay returns the options of a queue that retries at once.
func withoutDelay() shardq.Options[string] {
	return shardq.Options[string]{RateLimiter: limiter.NewExponential[string](0, 0)}
}

// BenchmarkRunFailing measures an attempt that fails, which the queue keeps for
// RecentFailures.
func BenchmarkRunFailing(b *testing.B) {
	for _, workers := range []int{1, 8} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			t := newTraffic(b.N, withoutDelay())
			b.ReportAllocs()
			b.ResetTimer()
			runFailing(t, workers)
		})
	}
}

// BenchmarkRecentFailures reads the failures that a queue keeps.
func BenchmarkRecentFailures(b *testing.B) {
	t := newTraffic(1000, withoutDelay())
	runFailing(t, 1)
	b.ReportAllocs()
	for b.Loop() {
		t.queue.RecentFailures(64)
	}
}
