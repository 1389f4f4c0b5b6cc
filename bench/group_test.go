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

// tenanted is an item that belongs to a tenant.
type tenanted struct {
	tenant string
	object int
}

func tenantOf(item tenanted) string { return item.tenant }

// BenchmarkGroups measures the cycle of an item, Add, Get and Done, in one
// goroutine over 1k items, by the number of their groups, beside a queue
// without groups. The queue is otherwise empty, or has 10k ready items of the
// same groups.
func BenchmarkGroups(b *testing.B) {
	for _, shards := range []int{1, 32} {
		for _, ready := range []int{0, 10_000} {
			for _, groups := range []int{0, 1, 10, 1000} {
				b.Run(fmt.Sprintf("shards=%d/ready=%d/groups=%d", shards, ready, groups), func(b *testing.B) {
					options := shardq.Options[tenanted]{Shards: shards}
					if groups > 0 {
						options.Group = tenantOf
						options.GroupPolicy = func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: 4} }
					}
					q := shardq.MustNew(options)
					defer q.ShutDown()
					items := workload.Shuffled(tenantedItems(1000, max(1, groups)))
					for _, item := range tenantedItems(1000+ready, max(1, groups))[1000:] {
						q.Add(item)
					}
					b.ReportAllocs()
					for n := 0; b.Loop(); n++ {
						q.Add(items[n%len(items)])
						item, _ := q.Get()
						q.Done(item)
						if ready > 0 { // the item is one of the others
							q.Add(item)
							item, _ = q.Get()
							q.Done(item)
						}
					}
				})
			}
		}
	}
}

// BenchmarkGroupRates measures the cycle of BenchmarkGroups over 10 and 1000
// groups that have no rate, or one that is never reached, or a queue that has
// such a rate.
func BenchmarkGroupRates(b *testing.B) {
	plenty := shardq.Rate{PerSecond: 1e9, Burst: 1000}
	for _, groups := range []int{10, 1000} {
		for _, rate := range []string{"none", "group", "queue"} {
			b.Run(fmt.Sprintf("groups=%d/rate=%s", groups, rate), func(b *testing.B) {
				options := shardq.Options[tenanted]{Shards: 32, Group: tenantOf}
				switch rate {
				case "group":
					options.GroupPolicy = func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Rate: plenty} }
				case "queue":
					options.Rate = plenty
				}
				q := shardq.MustNew(options)
				defer q.ShutDown()
				items := workload.Shuffled(tenantedItems(1000, groups))
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					q.Add(items[n%len(items)])
					item, _ := q.Get()
					q.Done(item)
				}
			})
		}
	}
}

// BenchmarkRateReached counts the items that one consumer gets in a second of a
// group with a rate, or of a queue, with a Burst of 1. The time of an item is
// the rate, and says nothing.
func BenchmarkRateReached(b *testing.B) {
	for _, perSecond := range []float64{500, 5000, 20_000} {
		rate := shardq.Rate{PerSecond: perSecond}
		for name, options := range map[string]shardq.Options[tenanted]{
			"group": {Group: tenantOf, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Rate: rate} }},
			"queue": {Rate: rate},
		} {
			b.Run(fmt.Sprintf("rate=%v/%s", perSecond, name), func(b *testing.B) {
				q := shardq.MustNew(options)
				defer q.ShutDown()
				q.AddBatch(tenantedItems(b.N+1, 1), shardq.AddOptions{})
				q.Get() // the Burst
				for b.ResetTimer(); q.Len() > 0; {
					item, _ := q.Get()
					q.Done(item)
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "items/s")
			})
		}
	}
}

// BenchmarkGroupMemory measures the memory of a group: what a queue takes for
// 100k items that have a group each, less what it takes without groups. The
// items have one priority, or seven.
func BenchmarkGroupMemory(b *testing.B) {
	const n = 100_000
	items := tenantedItems(n, n)
	for _, levels := range []int{1, 7} {
		b.Run(fmt.Sprintf("levels=%d", levels), func(b *testing.B) {
			fill := func(group func(tenanted) string) uint64 {
				q := shardq.MustNew(shardq.Options[tenanted]{Group: group})
				before := liveBytes()
				for i, item := range items {
					q.AddWith(item, shardq.AddOptions{Priority: i % levels})
				}
				held := liveBytes() - before
				runtime.KeepAlive(q)
				return held
			}
			for b.Loop() {
				with, without := fill(tenantOf), fill(nil)
				b.ReportMetric((float64(with)-float64(without))/n, "B/group")
			}
		})
	}
	runtime.KeepAlive(items)
}

func liveBytes() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func tenantedItems(n, groups int) (items []tenanted) {
	names := workload.Strings(groups)
	for i := range n {
		items = append(items, tenanted{names[i%groups], i})
	}
	return items
}

// BenchmarkFlood measures how many items of other tenants are handed out
// between the add of a tenant's only item and its Get. There is a worker for
// each processor. Of ten tenants, one always has 100k ready items. The others
// have one item in all, which a worker adds now and then.
func BenchmarkFlood(b *testing.B) {
	for _, shards := range []int{1, 32} {
		for _, fair := range []bool{false, true} {
			b.Run(fmt.Sprintf("shards=%d/groups=%v", shards, fair), func(b *testing.B) {
				passed := flood(shards, fair, b.N)
				for name, place := range map[string]int{"p50": len(passed) / 2, "p99": len(passed) * 99 / 100, "max": len(passed) - 1} {
					b.ReportMetric(float64(passed[place]), name+"-before")
				}
			})
		}
	}
}

// flood returns, n times, the number of items that were handed out before an
// item of a small tenant, in increasing order.
func flood(shards int, fair bool, n int) (passed []int64) {
	options := shardq.Options[tenanted]{Shards: shards}
	if fair {
		options.Group = tenantOf
	}
	q := shardq.MustNew(options)
	const big = "a tenant who has it all"
	for i := range 100_000 {
		q.Add(tenanted{big, i})
	}
	small := workload.Strings(9)
	var handed, since atomic.Int64 // since is the value of handed at the add; 0: there is no such item
	var workers sync.WaitGroup
	work := func() {
		for turn := 1; ; turn++ {
			item, shutdown := q.Get()
			if shutdown {
				return
			}
			if item.tenant != big {
				if passed = append(passed, handed.Load()-since.Swap(0)); len(passed) == n { // there is one such item at a time
					q.ShutDown()
				}
			} else {
				handed.Add(1)
				q.Add(item) // the flood continues
				if turn%100 == 0 && since.CompareAndSwap(0, handed.Load()) {
					q.Add(tenanted{small[turn/100%len(small)], 0})
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
