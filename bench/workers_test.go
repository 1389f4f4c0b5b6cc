package bench_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/workload"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/worker"
)

// traffic is a number of runs of 1k keys, each of which is added again while it
// is processed.
type traffic struct {
	queue *queue
	left  atomic.Int64
}

func newTraffic(b *testing.B, runs int, o options) *traffic {
	t := &traffic{queue: shardq.MustNew(o)}
	t.left.Store(int64(runs))
	t.queue.AddBatch(workload.Shuffled(workload.Strings(1000)), shardq.AddOptions{})
	b.ReportAllocs()
	b.ResetTimer()
	return t
}

// process processes a key: it adds it again, or ends the runs.
func (t *traffic) process(key string) {
	switch left := t.left.Add(-1); {
	case left > 0:
		t.queue.Add(key)
	case left == 0:
		t.queue.ShutDown()
	}
}

// byLoop is the usual loop, written by hand.
func byLoop(t *traffic, workers int) {
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for key, shutdown := t.queue.Get(); !shutdown; key, shutdown = t.queue.Get() {
				t.process(key)
				t.queue.Forget(key)
				t.queue.Done(key)
			}
		})
	}
	all.Wait()
}

// byPool returns [worker.Pool.Run] with some options.
func byPool(o worker.Options[string]) func(t *traffic, workers int) {
	return func(t *traffic, workers int) {
		o := o
		o.Workers = workers
		switch {
		case o.Handle != nil:
		case o.BatchSize > 0:
			o.HandleBatch = func(_ context.Context, keys []string) []error {
				for _, key := range keys {
					t.process(key)
				}
				return nil
			}
		default:
			o.Handle = func(_ context.Context, key string) error { t.process(key); return nil }
		}
		pool, err := worker.New(t.queue, o)
		must(err)
		err = pool.Run(context.Background())
		if _, left := errors.AsType[*worker.LeftoverError[string]](err); !left { // BenchmarkRunFailing has some
			must(err)
		}
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// BenchmarkRun measures an item through a pool beside a hand-written loop, and
// the cost of features that are on.
func BenchmarkRun(b *testing.B) {
	metrics := options{Metrics: true}
	passing := worker.Middleware[string](func(next worker.Handler[string]) worker.Handler[string] { return next })
	one := options{Shards: 1}
	for _, workers := range []int{1, 8} {
		for _, by := range []struct {
			name  string
			run   func(t *traffic, workers int)
			queue options
		}{
			{"loop", byLoop, options{}},
			{"loop,Metrics", byLoop, metrics},
			{"Run", byPool(worker.Options[string]{}), options{}},
			{"loop,Shards=1", byLoop, one},
			{"Run,Shards=1", byPool(worker.Options[string]{}), one},
			{"Run,Metrics", byPool(worker.Options[string]{}), metrics},
			{"Run,Attempts", byPool(worker.Options[string]{Attempts: true}), options{}},
			{"Run,Use", byPool(worker.Options[string]{Use: []worker.Middleware[string]{passing}}), options{}},
			{"Run,CancelIfAddedAgain", byPool(worker.Options[string]{CancelIfAddedAgain: true}), options{}},
			{"Run,Timeout", byPool(worker.Options[string]{Timeout: time.Hour}), options{}},
			{"Run,BatchSize=64", byPool(worker.Options[string]{BatchSize: 64}), options{}},
		} {
			b.Run(fmt.Sprintf("workers=%d/by=%s", workers, by.name), func(b *testing.B) {
				by.run(newTraffic(b, b.N, by.queue), workers)
			})
		}
	}
}

var errAttempt = errors.New("the attempt has failed")

// BenchmarkRunFailing measures an attempt that fails and is made again without
// a delay.
func BenchmarkRunFailing(b *testing.B) {
	for _, workers := range []int{1, 8} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			t := newTraffic(b, b.N, options{RateLimiter: limiter.NewExponential[string](0, 0)})
			byPool(worker.Options[string]{Handle: func(context.Context, string) error {
				if t.left.Add(-1) == 0 {
					t.queue.ShutDown()
				}
				return errAttempt
			}})(t, workers)
		})
	}
}
