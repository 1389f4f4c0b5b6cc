package bench_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/shardq/shardq/bench/workload"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/worker"
)

// values are a number of runs of 1k keys. While a worker processes the value of
// a key, the next value of the key is put.
type values struct {
	coalescer *coalesce.Coalescer[string, int]
	left      atomic.Int64
}

func newValues(runs int) *values {
	v := &values{coalescer: coalesce.MustNew(coalesce.Options[string, int]{
		Merge: func(a, b int) int { return a + b },
	})}
	v.left.Store(int64(runs))
	for _, key := range workload.Shuffled(workload.Strings(1000)) {
		_ = v.coalescer.Put(key, 1)
	}
	return v
}

// write processes a value: it puts the next one, or ends the runs.
func (v *values) write(key string, value int) error {
	switch left := v.left.Add(-1); {
	case left > 0:
		return v.coalescer.Put(key, value)
	case left == 0:
		v.coalescer.ShutDown()
	}
	return nil
}

// takeAndDone is the usual loop, written by hand.
func takeAndDone(v *values, workers int) {
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				key, value, err := v.coalescer.Take(context.Background())
				if err != nil {
					return
				}
				_ = v.write(key, value)
				v.coalescer.Done(key)
			}
		})
	}
	all.Wait()
}

func runValues(v *values, workers int) {
	_ = v.coalescer.Run(context.Background(), workers, func(_ context.Context, key string, value int) error {
		_ = v.write(key, value) // fails at the end
		return nil
	})
}

func runBatches(v *values, workers int) {
	w, err := worker.New(v.coalescer, worker.Options[coalesce.Entry[string, int]]{
		Workers: workers, BatchSize: 64,
		HandleBatch: func(_ context.Context, taken []coalesce.Entry[string, int]) []error {
			for _, one := range taken {
				_ = v.write(one.Key, one.Value)
			}
			return nil
		},
	})
	if err == nil {
		err = w.Run(context.Background())
	}
	if err != nil {
		panic(err)
	}
}

// BenchmarkCoalescerRun measures a value through Coalescer.Run beside a
// hand-written loop.
func BenchmarkCoalescerRun(b *testing.B) {
	for _, workers := range []int{1, 8} {
		for _, by := range []struct {
			name string
			run  func(v *values, workers int)
		}{{"loop", takeAndDone}, {"Run", runValues}, {"Run,BatchSize=64", runBatches}} {
			b.Run(fmt.Sprintf("workers=%d/by=%s", workers, by.name), func(b *testing.B) {
				v := newValues(b.N)
				b.ReportAllocs()
				b.ResetTimer()
				by.run(v, workers)
			})
		}
	}
}
