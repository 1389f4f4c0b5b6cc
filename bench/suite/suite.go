// Package suite is the list of the benchmarks that compare engines. Go
// benchmarks run it, and the report runs it in turns. Names are key=value, as
// golang.org/x/perf reads them.
package suite

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/shardq/shardq/bench/workload"
)

// A Benchmark is the same work for every engine.
type Benchmark struct {
	Name    string
	Metric  string // that the report shows: "ns/op", or one that Run reports
	Keys, N int    // N is the number of operations in the report
	Delays  bool   // the engine needs AddAfter
	Traffic bool   // workers may do it
	// Fits reports whether an engine, with that queue, can do the work. If nil, each can.
	Fits func(e workload.Engine, q workload.Queue) bool
	Run  func(b *testing.B, e workload.Engine)
}

// Takes reports whether an engine can do the work in reasonable time.
func (bm Benchmark) Takes(e workload.Engine) bool {
	if e.Works && !bm.Traffic {
		return false
	}
	q := e.New()
	defer q.ShutDown()
	if _, delays := q.(workload.DelayingQueue); bm.Delays && !delays || bm.Fits != nil && !bm.Fits(e, q) {
		return false
	}
	return e.MaxKeys == 0 || bm.Keys <= e.MaxKeys
}

func Label(e workload.Engine) string { return fmt.Sprintf("engine=%s/shards=%d", e.Name, e.Shards) }

// Run runs the benchmarks whose names begin with prefix, over all engines.
func Run(b *testing.B, prefix string, engines []workload.Engine) {
	all := All()
	for _, p := range Scaling() {
		all = append(all, p.One, p.All)
	}
	for _, bm := range all {
		rest, ok := strings.CutPrefix(bm.Name, prefix+"/")
		if !ok {
			continue
		}
		b.Run(rest, func(b *testing.B) {
			for _, e := range engines {
				if bm.Takes(e) {
					b.Run(Label(e), func(b *testing.B) { bm.Run(b, e) })
				}
			}
		})
	}
}

// All returns the benchmarks, with small sizes if the flag -short is set.
func All() []Benchmark {
	many, one, eight, sixtyFour := 1_000_000, goroutines{1, 1}, goroutines{8, 8}, goroutines{64, 64}
	if testing.Short() {
		many = 100_000
	}
	return []Benchmark{
		cycle(1000, false), cycle(1000, true), cycle(many, true),
		closed(1<<16, one), closed(1<<16, eight), closed(1<<16, sixtyFour), closed(many, sixtyFour),
		open("uniform", eight), open("zipf", eight), open("hot", eight),
		addAfter(0), addAfter(many), delayedCycle(many / 2), lateness(), memory(many),
	}
}

// Count formats a number for a name: 64k for 65536, 1M for a million.
func Count(n int) string {
	for _, unit := range []struct {
		size int
		name string
	}{{1_000_000, "M"}, {1000, "k"}, {1024, "k"}} {
		if n >= unit.size && n%unit.size == 0 {
			return fmt.Sprint(n/unit.size) + unit.name
		}
	}
	return fmt.Sprint(n)
}

func cycle(keys int, beside bool) Benchmark {
	ready := 0
	if beside {
		ready = keys
	}
	return Benchmark{
		Name: fmt.Sprintf("Cycle/keys=%s/ready=%s", Count(keys), Count(ready)), Metric: "ns/op", Keys: 10 * keys, N: 1_000_000,
		Run: func(b *testing.B, e workload.Engine) {
			q := e.New()
			defer q.ShutDown()
			all := workload.Strings(keys)
			work := func(n int) { workload.Rotate(q, n) }
			if beside {
				workload.AddAll(q, all)
			} else {
				stream := workload.Uniform(all)
				work = func(n int) { workload.Cycle(q, stream, n) }
			}
			work(1000)
			b.ReportAllocs()
			b.ResetTimer()
			work(b.N)
		},
	}
}

type goroutines struct{ producers, consumers int }

func (c goroutines) String() string {
	return fmt.Sprintf("producers=%d/consumers=%d", c.producers, c.consumers)
}

// closed is traffic without deduplicated adds: the cost of an item.
func closed(keys int, c goroutines) Benchmark {
	return Benchmark{
		Name: fmt.Sprintf("Closed/keys=%s/%v", Count(keys), c), Metric: "ns/op", Keys: keys, N: 2_000_000, Traffic: true,
		Run: func(b *testing.B, e workload.Engine) {
			all := workload.Shuffled(workload.Strings(keys))
			c.run(b, keys, func(l workload.Load) workload.Traffic { return workload.Closed(e.New(), all, l) })
		},
	}
}

// open is traffic whose producers never wait: the behavior under an overload.
func open(stream string, c goroutines) Benchmark {
	keys, n := 1<<16, 1_000_000
	if stream == "hot" {
		n = 20_000 // a key waits for a goroutine each time
	}
	return Benchmark{
		Name: fmt.Sprintf("Open/stream=%s/keys=%s/%v", stream, Count(keys), c), Metric: "ns/op", Keys: keys, N: n,
		Run: func(b *testing.B, e workload.Engine) {
			if e.Name == "controller-runtime" {
				b.Skip("it takes adds into a buffer without bounds: such producers fill the memory")
			}
			all, warmup := workload.Strings(keys), keys
			order := workload.Uniform
			switch stream {
			case "zipf":
				order = workload.Zipf
			case "hot":
				order, warmup = workload.HotKey, 1
			}
			c.run(b, warmup, func(l workload.Load) workload.Traffic { return workload.Open(e.New(), order(all), l) })
		},
	}
}

// run replaces the benchmark's own time per operation, which does not include
// items beyond b.N.
func (c goroutines) run(b *testing.B, warmup int, run func(workload.Load) workload.Traffic) {
	var processors workload.Stopwatch
	b.ReportAllocs()
	t := run(workload.Load{Producers: c.producers, Consumers: c.consumers, Warmup: warmup, Items: b.N, Warm: func() {
		processors.Start()
		b.ResetTimer()
	}})
	processors.Stop()
	b.StopTimer()
	processors.Report(b, t.Completed)
	b.ReportMetric(t.NanosecondsPerItem(), "ns/op")
	b.ReportMetric(1e9/t.NanosecondsPerItem(), "items/s")
	b.ReportMetric(t.DeduplicatedPerItem(), "deduplicated/item")
}

func addAfter(delayed int) Benchmark {
	return Benchmark{
		Name: "AddAfter/delayed=" + Count(delayed), Metric: "ns/op", Keys: delayed, N: 1_000_000, Delays: true,
		Run: func(b *testing.B, e workload.Engine) {
			q := e.New().(workload.DelayingQueue)
			defer q.ShutDown()
			keys := workload.NewDelayedKeys(q, workload.Strings(max(delayed, 1)))
			b.ReportAllocs()
			b.ResetTimer()
			keys.Reschedule(b.N)
		},
	}
}

func delayedCycle(items int) Benchmark {
	return Benchmark{
		Name: "DelayedCycle/items=" + Count(items), Metric: "ns/item", Keys: items, N: 1, Delays: true,
		Run: func(b *testing.B, e workload.Engine) {
			keys, delays := workload.Shuffled(workload.Strings(items)), workload.Delays(items, 100*time.Millisecond)
			b.ReportAllocs()
			var elapsed time.Duration
			for range b.N {
				elapsed += workload.DelayedCycle(e.New().(workload.DelayingQueue), keys, delays, runtime.GOMAXPROCS(0))
			}
			b.ReportMetric(float64(elapsed.Nanoseconds())/float64(b.N*items), "ns/item")
		},
	}
}

// lateness is how long after its deadline an item is handed out when nothing
// else runs. The delays are spread over a second.
func lateness() Benchmark {
	const items = 10_000
	return Benchmark{
		Name: "Lateness/items=" + Count(items), Metric: "p99-µs", Keys: items, N: 1, Delays: true,
		Run: func(b *testing.B, e workload.Engine) {
			var late []time.Duration
			for range b.N {
				late = workload.Lateness(e.New().(workload.DelayingQueue), workload.Strings(items), workload.Delays(items, time.Second))
			}
			b.ReportMetric(float64(late[items/2].Nanoseconds())/1000, "p50-µs")
			b.ReportMetric(float64(late[items*99/100].Nanoseconds())/1000, "p99-µs")
			b.ReportMetric(float64(late[items-1].Nanoseconds())/1000, "max-µs")
		},
	}
}

func memory(items int) Benchmark {
	return Benchmark{
		Name: "Memory/items=" + Count(items), Metric: "B/ready-item", Keys: items, N: 1, Delays: true,
		Run: func(b *testing.B, e workload.Engine) {
			keys := workload.Strings(items)
			for range b.N {
				perItem, retained := workload.HeapOfReady(e.New, keys)
				b.ReportMetric(perItem, "B/ready-item")
				b.ReportMetric(retained, "B-retained")
				b.ReportMetric(workload.HeapOfDelayed(e.New, keys), "B/delayed-item")
			}
		},
	}
}
