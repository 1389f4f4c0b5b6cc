package bench_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/suite"
	"github.com/shardq/shardq/bench/workload"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// A way is how an item passes through a queue, with or without a feature.
type way struct {
	feature, use string
	options      shardq.Options[string]
	// cycle passes the keys through the queue.
	cycle func(q *shardq.Queue[string], keys []string)
}

// plain is the way without a feature.
func plain(q *shardq.Queue[string], keys []string) {
	for _, key := range keys {
		q.Add(key)
		item, _ := q.Get()
		q.Done(item)
	}
}

func never(shardq.Watermark) {}

// ways returns pairs of ways: without a feature, and with it.
func ways() []way {
	ctx, cancel := context.WithCancel(context.Background()) // a context that can end
	_ = cancel
	bounded := shardq.Options[string]{Capacity: 1 << 20}
	batch := make([]worker.Claim[string], 64)
	return []way{
		{"GetContext", "no", shardq.Options[string]{}, plain},
		{"GetContext", "yes", shardq.Options[string]{}, func(q *shardq.Queue[string], keys []string) {
			for _, key := range keys {
				q.Add(key)
				item, _ := q.GetContext(ctx)
				q.Done(item)
			}
		}},
		{"Items", "no", shardq.Options[string]{}, plain},
		{"Items", "yes", shardq.Options[string]{}, func(q *shardq.Queue[string], keys []string) {
			q.Add(keys[0])
			next := 1
			for range q.Items(ctx) {
				if next == len(keys) {
					break
				}
				q.Add(keys[next])
				next++
			}
		}},
		{"batches", "no", shardq.Options[string]{}, func(q *shardq.Queue[string], keys []string) {
			workload.AddAll(q, keys)
			for range keys {
				item, _ := q.Get()
				q.Done(item)
			}
		}},
		{"batches", "yes", shardq.Options[string]{}, func(q *shardq.Queue[string], keys []string) {
			q.AddBatch(keys, shardq.AddOptions{})
			for left := len(keys); left > 0; {
				n, _ := q.ClaimBatch(ctx, batch)
				_ = q.DoneClaims(batch[:n])
				left -= n
			}
		}},
		{"AddWith", "no", shardq.Options[string]{}, plain},
		{"AddWith", "yes", shardq.Options[string]{}, func(q *shardq.Queue[string], keys []string) {
			for _, key := range keys {
				q.AddWith(key, shardq.AddOptions{})
				item, _ := q.Get()
				q.Done(item)
			}
		}},
		{"debounce", "no", shardq.Options[string]{}, func(q *shardq.Queue[string], keys []string) {
			for _, key := range keys {
				q.AddAfter(key, time.Hour)
			}
		}},
		{"debounce", "yes", shardq.Options[string]{}, func(q *shardq.Queue[string], keys []string) {
			for _, key := range keys {
				q.AddWith(key, shardq.AddOptions{After: time.Hour, Policy: shardq.KeepLatest, MaxWait: 2 * time.Hour})
			}
		}},
		{"Cancel", "no", shardq.Options[string]{}, plain},
		{"Cancel", "yes", shardq.Options[string]{}, func(q *shardq.Queue[string], keys []string) {
			for _, key := range keys {
				q.Add(key)
				q.Cancel(key)
			}
		}},
		{"Capacity", "no", shardq.Options[string]{}, plain},
		{"Capacity", "yes", bounded, plain},
		{"TryAdd", "no", bounded, plain},
		{"TryAdd", "yes", bounded, func(q *shardq.Queue[string], keys []string) {
			for _, key := range keys {
				_ = q.TryAdd(key, shardq.AddOptions{})
				item, _ := q.Get()
				q.Done(item)
			}
		}},
		{"AddContext", "no", bounded, plain},
		{"AddContext", "yes", bounded, func(q *shardq.Queue[string], keys []string) {
			for _, key := range keys {
				_ = q.AddContext(ctx, key, shardq.AddOptions{})
				item, _ := q.Get()
				q.Done(item)
			}
		}},
		{"OnWatermark", "no", bounded, plain},
		{"OnWatermark", "yes", shardq.Options[string]{Capacity: 1 << 20, Watermarks: shardq.Watermarks{High: 1 << 19, On: never}}, plain},
		{"Ages", "no", shardq.Options[string]{}, plain},
		{"Ages", "yes", shardq.Options[string]{Ages: true}, plain},
		{"Metrics", "no", shardq.Options[string]{}, plain},
		{"Metrics", "yes", shardq.Options[string]{Metrics: true}, plain},
		{"OnStuck", "no", shardq.Options[string]{Ages: true}, plain},
		{"OnStuck", "yes", shardq.Options[string]{StuckAfter: time.Hour, OnStuck: func(stats.Item[string]) {}}, plain},
	}
}

// BenchmarkControl measures each feature beside not using it, in one goroutine,
// over 1k keys.
func BenchmarkControl(b *testing.B) {
	keys := workload.Shuffled(workload.Strings(1000))
	for _, w := range ways() {
		b.Run(fmt.Sprintf("feature=%s/use=%s", w.feature, w.use), func(b *testing.B) {
			q := shardq.MustNew(w.options)
			defer q.ShutDown()
			w.cycle(q, keys)
			b.ReportAllocs()
			b.ResetTimer()
			for left := b.N; left > 0; left -= len(keys) {
				w.cycle(q, keys[:min(left, len(keys))])
			}
		})
	}
}

// BenchmarkInspect measures inspections of queues with ages, by their sizes. A
// third of the items is in each state.
func BenchmarkInspect(b *testing.B) {
	sizes := []int{1000, 100_000}
	if !testing.Short() {
		sizes = append(sizes, 1_000_000)
	}
	for _, n := range sizes {
		q := filled(n)
		inspect := func(name string, do func()) {
			b.Run(fmt.Sprintf("items=%s/call=%s", suite.Count(n), name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					do()
				}
			})
		}
		inspect("Stats", func() { q.Stats() })
		inspect("Snapshot(10)", func() { q.Snapshot(10) })
		inspect("Snapshot(1000)", func() { q.Snapshot(1000) })
		inspect("All", func() {
			for range q.All(stats.Processing) {
			}
		})
		q.ShutDown()
	}
}

// filled returns a queue with n items, a third of them in each state.
func filled(n int) *shardq.Queue[string] {
	q := shardq.MustNew(shardq.Options[string]{Ages: true})
	keys := workload.Strings(n)
	q.AddBatch(keys[:2*n/3], shardq.AddOptions{})
	for range n / 3 {
		_, _ = q.Get()
	}
	for i, key := range keys[2*n/3:] {
		q.AddAfter(key, time.Hour+time.Duration(i)*time.Millisecond)
	}
	return q
}

// BenchmarkBesideInspections measures the cycle of a worker while another
// goroutine inspects the queue, always or ten times a second. The queue has 1M
// items (100k with -short).
func BenchmarkBesideInspections(b *testing.B) {
	n := 1_000_000
	if testing.Short() {
		n = 100_000
	}
	q := filled(n)
	defer q.ShutDown()
	for _, inspector := range []struct {
		name    string
		inspect func() // nil for none
		rest    time.Duration
	}{
		{"none", nil, 0},
		{"Snapshot(10),10/s", func() { q.Snapshot(10) }, 100 * time.Millisecond},
		{"Snapshot(10),always", func() { q.Snapshot(10) }, 0},
		{"All,always", func() {
			for range q.All(stats.Processing) {
			}
		}, 0},
	} {
		b.Run("items="+suite.Count(n)+"/call="+inspector.name, func(b *testing.B) {
			var stop atomic.Bool
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				for inspector.inspect != nil && !stop.Load() {
					inspector.inspect()
					time.Sleep(inspector.rest)
				}
			}()
			b.ResetTimer()
			for range b.N {
				item, _ := q.Get()
				q.Add(item)
				q.Done(item)
			}
			b.StopTimer()
			stop.Store(true)
			<-gone
		})
	}
}

// BenchmarkEnd measures the ends of a queue that has served a thousand items.
func BenchmarkEnd(b *testing.B) {
	keys := workload.Strings(1000)
	for _, end := range []struct {
		name string
		do   func(q *shardq.Queue[string])
	}{
		{"ShutDownWithDrain", func(q *shardq.Queue[string]) { q.ShutDownWithDrain() }},
		{"Drain", func(q *shardq.Queue[string]) { _, _ = q.Drain(context.Background(), shardq.DrainOptions{}) }},
	} {
		b.Run("end="+end.name, func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				q := shardq.MustNew(shardq.Options[string]{})
				plain(q, keys)
				b.StartTimer()
				end.do(q)
			}
		})
	}
}
