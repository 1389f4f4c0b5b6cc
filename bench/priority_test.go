package bench_test

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/workload"
)

// BenchmarkPriorities measures the cycle of an item, AddWith, Get and Done, in
// one goroutine over 1k keys, by the number of priorities in use. The queue is
// otherwise empty, or has 10k ready items.
func BenchmarkPriorities(b *testing.B) {
	keys := workload.Shuffled(workload.Strings(1000))
	others := workload.Strings(11_000)[1000:]
	for _, shards := range []int{1, 32} {
		for _, ready := range []int{0, 10_000} {
			for _, levels := range []int{1, 2, 1000} {
				b.Run(fmt.Sprintf("shards=%d/ready=%d/levels=%d", shards, ready, levels), func(b *testing.B) {
					q := shardq.MustNew(shardq.Options[string]{Shards: shards})
					defer q.ShutDown()
					for i, key := range others[:ready] {
						q.AddWith(key, shardq.AddOptions{Priority: i % levels})
					}
					b.ReportAllocs()
					for n := 0; b.Loop(); n++ {
						q.AddWith(keys[n%len(keys)], shardq.AddOptions{Priority: n % levels})
						item, _ := q.Get()
						q.Done(item)
						if ready > 0 { // the item is one of the others
							q.AddWith(item, shardq.AddOptions{Priority: n % levels})
							item, _ = q.Get()
							q.Done(item)
						}
					}
				})
			}
		}
	}
}

// BenchmarkOvertaking measures how many items of a lower priority are handed
// out between the add of an urgent item and its Get. There is a worker for each
// processor, a backlog that is never empty, and one urgent item at a time,
// which a worker adds now and then.
func BenchmarkOvertaking(b *testing.B) {
	for _, shards := range []int{1, 32} {
		for _, priority := range []int{0, 1} {
			b.Run(fmt.Sprintf("shards=%d/priority=%d", shards, priority), func(b *testing.B) {
				passed := overtaking(shards, priority, b.N)
				for name, place := range map[string]int{"p50": len(passed) / 2, "p99": len(passed) * 99 / 100, "max": len(passed) - 1} {
					b.ReportMetric(float64(passed[place]), name+"-before")
				}
			})
		}
	}
}

// urgent is the only item that is not in the backlog.
const urgent = -1

// overtaking returns, n times, the number of items that were handed out before
// the urgent one, in increasing order.
func overtaking(shards, priority, n int) (passed []int64) {
	q := shardq.MustNew(shardq.Options[int]{Shards: shards})
	for item := range 1000 {
		q.Add(item)
	}
	var handed, since atomic.Int64 // since is the value of handed at the add; 0: there is no urgent item
	var workers sync.WaitGroup
	work := func() {
		for turn := 1; ; turn++ {
			item, shutdown := q.Get()
			if shutdown {
				return
			}
			if item == urgent {
				passed = append(passed, handed.Load()-since.Swap(0)) // there is one urgent item at a time
				if len(passed) == n {
					q.ShutDown()
				}
			} else {
				handed.Add(1)
				q.Add(item) // the backlog stays
				if turn%100 == 0 && since.CompareAndSwap(0, handed.Load()) {
					q.AddWith(urgent, shardq.AddOptions{Priority: priority})
				}
			}
			q.Done(item)
		}
	}
	for range runtime.GOMAXPROCS(0) {
		workers.Go(work)
	}
	workers.Wait()
	slices.Sort(passed)
	return passed
}
