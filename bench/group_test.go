package bench_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/workload"
)

// tenanted returns n keys of so many tenants.
func tenanted(n, tenants int) []string {
	keys, names := make([]string, n), workload.Strings(tenants)
	for i := range keys {
		keys[i] = fmt.Sprintf("%s:%d", names[i%tenants], i)
	}
	return keys
}

func tenantOf(key string) string {
	tenant, _, _ := strings.Cut(key, ":")
	return tenant
}

var plenty = shardq.Rate{PerSecond: 1e9, Burst: 1000}

// BenchmarkGroups measures the cycle of an item by the number of groups, beside
// a queue without groups, and with rates that are never reached.
func BenchmarkGroups(b *testing.B) {
	limit := options{Group: tenantOf, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: 4} }}
	for _, way := range []struct {
		name    string
		groups  int
		options options
	}{
		{"none", 1, options{}},
		{"one", 1, limit},
		{"1k", 1000, limit},
		{"1k,rates", 1000, options{Group: tenantOf, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Rate: plenty} }}},
		{"1k,queue's rate", 1000, options{Group: tenantOf, Rate: plenty}},
	} {
		b.Run("groups="+way.name, func(b *testing.B) {
			q := shardq.MustNew(way.options)
			defer q.ShutDown()
			keys := tenanted(1000, way.groups)
			inRounds(b, func(round []string) { plain(q, keys[:len(round)]) })
		})
	}
}

// BenchmarkRateReached counts the items that one consumer gets in a second of a
// group with a rate, or of a queue, with a Burst of 1. The time of an item is
// the rate, and says nothing.
func BenchmarkRateReached(b *testing.B) {
	for _, perSecond := range []float64{500, 5000, 20_000} {
		rate := shardq.Rate{PerSecond: perSecond}
		for name, with := range map[string]options{
			"group": {Group: tenantOf, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Rate: rate} }},
			"queue": {Rate: rate},
		} {
			b.Run(fmt.Sprintf("rate=%v/of=%s", perSecond, name), func(b *testing.B) {
				q := shardq.MustNew(with)
				defer q.ShutDown()
				q.AddBatch(tenanted(b.N+1, 1), shardq.AddOptions{})
				q.Get() // the Burst
				for b.ResetTimer(); q.Len() > 0; {
					key, _ := q.Get()
					q.Done(key)
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "items/s")
			})
		}
	}
}

// BenchmarkGroupMemory measures the memory of a group: what a queue takes for
// 100k items that have a group each, less what it takes without groups.
func BenchmarkGroupMemory(b *testing.B) {
	const n = 100_000
	keys := tenanted(n, n)
	fill := func(group func(string) string) float64 {
		before := workload.LiveHeap()
		q := shardq.MustNew(options{Group: group})
		workload.AddAll(q, keys)
		held := workload.LiveHeap() - before
		runtime.KeepAlive(q)
		return held
	}
	for b.Loop() {
		b.ReportMetric((fill(tenantOf)-fill(nil))/n, "B/group")
	}
	runtime.KeepAlive(keys)
}

// BenchmarkOvertaking measures how many items are handed out between the add of
// a rare item and its Get, while a backlog is never empty. There is a worker
// for each processor. The rare item is urgent by its priority, or of a tenant
// that has no other, or neither.
func BenchmarkOvertaking(b *testing.B) {
	for _, shards := range []int{1, 32} {
		for _, way := range []struct {
			rare     string
			priority int
			group    func(string) string
		}{{"plain", 0, nil}, {"urgent", 1, nil}, {"another tenant's", 0, tenantOf}} {
			b.Run(fmt.Sprintf("shards=%d/item=%s", shards, way.rare), func(b *testing.B) {
				q := shardq.MustNew(options{Shards: shards, Group: way.group})
				passed := overtaking(q, shardq.AddOptions{Priority: way.priority}, b.N)
				for name, place := range map[string]int{"p50": len(passed) / 2, "p99": len(passed) * 99 / 100, "max": len(passed) - 1} {
					b.ReportMetric(float64(passed[place]), name+"-before")
				}
			})
		}
	}
}

// overtaking returns, n times, how many items were handed out before the rare
// one, in increasing order.
func overtaking(q *queue, with shardq.AddOptions, n int) (passed []int64) {
	const rare = "rare:0"
	q.AddBatch(tenanted(100_000, 1), shardq.AddOptions{})
	var handed, since atomic.Int64 // since is the value of handed at the add; 0: there is no rare item
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for turn := 1; ; turn++ {
				key, shutdown := q.Get()
				if shutdown {
					return
				}
				if key == rare {
					passed = append(passed, handed.Load()-since.Swap(0)) // there is one rare item at a time
					if len(passed) == n {
						q.ShutDown()
					}
				} else {
					handed.Add(1)
					q.Add(key) // the backlog stays
					if turn%100 == 0 && since.CompareAndSwap(0, handed.Load()) {
						q.AddWith(rare, with)
					}
				}
				q.Done(key)
			}
		})
	}
	workers.Wait()
	slices.Sort(passed)
	return passed
}
