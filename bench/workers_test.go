package bench_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/workload"
	"github.com/shardq/shardq/worker"
)

// traffic is a number of runs of 1k keys, each of which is added again while it
// is processed.
type traffic struct {
	queue *shardq.Queue[string]
	left  atomic.Int64
}

func newTraffic(runs int, o shardq.Options[string]) *traffic {
	t := &traffic{queue: shardq.MustNew(o)}
	t.left.Store(int64(runs))
	t.queue.AddBatch(workload.Shuffled(workload.Strings(1000)))
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

// handWritten is the usual loop, written by hand.
func handWritten(t *traffic, workers int) {
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				key, shutdown := t.queue.Get()
				if shutdown {
					return
				}
				t.process(key)
				t.queue.Forget(key)
				t.queue.Done(key)
			}
		})
	}
	all.Wait()
}

// handWrittenDeferred is the loop that is needed if the work may panic.
func handWrittenDeferred(t *traffic, workers int) {
	turn := func(key string) {
		defer t.queue.Done(key)
		t.process(key)
		t.queue.Forget(key)
	}
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for key, shutdown := t.queue.Get(); !shutdown; key, shutdown = t.queue.Get() {
				turn(key)
			}
		})
	}
	all.Wait()
}

// byRun returns [worker.Pool.Run] with some options.
func byRun(o worker.Options[string]) func(t *traffic, workers int) {
	return func(t *traffic, workers int) {
		o.Workers = workers
		if o.BatchSize > 0 {
			o.HandleBatch = func(_ context.Context, keys []string) []error {
				for _, key := range keys {
					t.process(key)
				}
				return nil
			}
		} else {
			o.Handle = func(_ context.Context, key string) error { t.process(key); return nil }
		}
		w, err := worker.New(t.queue, o)
		if err == nil {
			err = w.Run(context.Background())
		}
		if err != nil {
			panic(err)
		}
	}
}

// BenchmarkRun measures an item through Run beside a hand-written loop, and
// what features cost that are on.
func BenchmarkRun(b *testing.B) {
	metrics := shardq.Options[string]{Metrics: true}
	passing := worker.Middleware[string](func(next worker.Handler[string]) worker.Handler[string] { return next })
	for _, workers := range []int{1, 8} {
		for _, by := range []struct {
			name  string
			run   func(t *traffic, workers int)
			queue shardq.Options[string]
		}{
			{name: "loop", run: handWritten},
			{name: "loop,defer", run: handWrittenDeferred},
			{name: "loop,Metrics", run: handWritten, queue: metrics},
			{name: "Run", run: byRun(worker.Options[string]{})},
			{name: "Run,Metrics", run: byRun(worker.Options[string]{}), queue: metrics},
			{name: "Run,Attempts", run: byRun(worker.Options[string]{Attempts: true})},
			{name: "Run,Use", run: byRun(worker.Options[string]{Use: []worker.Middleware[string]{passing}})},
			{name: "Run,CancelIfAddedAgain", run: byRun(worker.Options[string]{CancelIfAddedAgain: true})},
			{name: "Run,Timeout", run: byRun(worker.Options[string]{Timeout: time.Hour})},
			{name: "Run,BatchSize=64", run: byRun(worker.Options[string]{BatchSize: 64})},
		} {
			b.Run(fmt.Sprintf("workers=%d/by=%s", workers, by.name), func(b *testing.B) {
				t := newTraffic(b.N, by.queue)
				b.ReportAllocs()
				b.ResetTimer()
				by.run(t, workers)
			})
		}
	}
}
