package bench_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/workload"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

type (
	queue   = shardq.Queue[string]
	options = shardq.Options[string]
)

// plain takes each key through Add, Get and Done.
func plain(q *queue, keys []string) {
	for _, key := range keys {
		q.Add(key)
		key, _ = q.Get()
		q.Done(key)
	}
}

// each calls add for each key, and takes it if it was added.
func each(add func(q *queue, key string) error) func(q *queue, keys []string) {
	return func(q *queue, keys []string) {
		for _, key := range keys {
			if add(q, key) == nil {
				key, _ = q.Get()
				q.Done(key)
			}
		}
	}
}

// only calls do for each key.
func only(do func(q *queue, key string)) func(q *queue, keys []string) {
	return func(q *queue, keys []string) {
		for _, key := range keys {
			do(q, key)
		}
	}
}

// inBatches adds all keys at once, and takes them by claims in batches of 64.
func inBatches(with shardq.AddOptions) func(q *queue, keys []string) {
	claims := make([]worker.Claim[string], 64)
	return func(q *queue, keys []string) {
		q.AddBatch(keys, with)
		for left := len(keys); left > 0; {
			n, _ := q.ClaimBatch(context.Background(), claims)
			_ = q.DoneClaims(claims[:n])
			left -= n
		}
	}
}

// BenchmarkFeatures measures each feature of a queue beside the plain cycle, in
// one goroutine over 1k keys.
func BenchmarkFeatures(b *testing.B) {
	ctx, cancel := context.WithCancel(context.Background()) // a context that can end
	defer cancel()
	bounded := options{Capacity: 1 << 20}
	window := func(length time.Duration) func(q *queue, keys []string) {
		return each(func(q *queue, key string) error { return q.TryAdd(key, shardq.AddOptions{NotAgainWithin: length}) })
	}
	for _, way := range []struct {
		feature string
		options options
		cycle   func(q *queue, keys []string)
	}{
		{"none", options{}, plain},
		{"AddWith", options{}, each(func(q *queue, key string) error { q.AddWith(key, shardq.AddOptions{}); return nil })},
		{"GetContext", options{}, func(q *queue, keys []string) {
			for _, key := range keys {
				q.Add(key)
				key, _ = q.GetContext(ctx)
				q.Done(key)
			}
		}},
		{"Claim", options{}, func(q *queue, keys []string) {
			for _, key := range keys {
				q.Add(key)
				claim, _ := q.Claim(ctx)
				_ = claim.Done()
			}
		}},
		{"batches", options{}, inBatches(shardq.AddOptions{})},
		{"batches,Priority", options{}, inBatches(shardq.AddOptions{Priority: 1})},
		{"window", options{}, window(time.Millisecond)},
		{"window,refused", options{}, window(time.Hour)},
		{"AddAfter", options{}, only(func(q *queue, key string) { q.AddAfter(key, time.Hour) })},
		{"debounce", options{}, only(func(q *queue, key string) {
			q.AddWith(key, shardq.AddOptions{After: time.Hour, Policy: shardq.KeepLatest, MaxWait: 2 * time.Hour})
		})},
		{"Cancel", options{}, only(func(q *queue, key string) { q.Add(key); q.Cancel(key) })},
		{"Capacity", bounded, plain},
		{"TryAdd", bounded, each(func(q *queue, key string) error { return q.TryAdd(key, shardq.AddOptions{}) })},
		{"AddContext", bounded, each(func(q *queue, key string) error { return q.AddContext(ctx, key, shardq.AddOptions{}) })},
		{"Ages", options{Ages: true}, plain},
		{"Metrics", options{Metrics: true}, plain},
		{"OnStuck", options{StuckAfter: time.Hour, OnStuck: func(stats.Item[string]) {}}, plain},
	} {
		b.Run("feature="+way.feature, func(b *testing.B) {
			q := shardq.MustNew(way.options)
			defer q.ShutDown()
			inRounds(b, func(keys []string) { way.cycle(q, keys) })
		})
	}
}

// inRounds calls round with 1k keys, or with the first of them, until b.N keys
// have passed. It calls round once before the measurement.
func inRounds(b *testing.B, round func(keys []string)) {
	keys := workload.Shuffled(workload.Strings(1000))
	round(keys)
	b.ReportAllocs()
	b.ResetTimer()
	for left := b.N; left > 0; left -= len(keys) {
		round(keys[:min(left, len(keys))])
	}
}

// BenchmarkPriorities measures the cycle by the number of priorities in use.
// The queue is otherwise empty, or has 10k ready items.
func BenchmarkPriorities(b *testing.B) {
	others := workload.Strings(11_000)[1000:]
	for _, ready := range []int{0, 10_000} {
		for _, levels := range []int{1, 1000} {
			b.Run(fmt.Sprintf("ready=%d/levels=%d", ready, levels), func(b *testing.B) {
				q := shardq.MustNew(options{})
				defer q.ShutDown()
				for i, key := range others[:ready] {
					q.AddWith(key, shardq.AddOptions{Priority: i % levels})
				}
				n := 0
				inRounds(b, func(keys []string) {
					for _, key := range keys {
						n++
						q.AddWith(key, shardq.AddOptions{Priority: n % levels})
						key, _ = q.Get()
						q.Done(key)
						if ready > 0 { // the key is one of the others
							q.AddWith(key, shardq.AddOptions{Priority: n % levels})
							key, _ = q.Get()
							q.Done(key)
						}
					}
				})
			})
		}
	}
}
