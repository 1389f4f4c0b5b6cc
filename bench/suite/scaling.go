package suite

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/shardq/shardq/bench/workload"
)

// A Pair is the same work by one goroutine, and by one for each processor.
type Pair struct{ One, All Benchmark }

// Scaling returns the benchmarks that measure how work grows with the processors.
func Scaling() (pairs []Pair) {
	for _, op := range workload.Ops() {
		pairs = append(pairs, Pair{sideBySide(op, 1), sideBySide(op, runtime.GOMAXPROCS(0))})
	}
	return pairs
}

// sideBySide is done in a new queue, beside a million keys that are in no cache.
func sideBySide(op workload.Op, goroutines int) Benchmark {
	many, tenants := 1_000_000, runtime.GOMAXPROCS(0)
	if testing.Short() {
		many = 10_000
	}
	each := many / tenants
	return Benchmark{
		Name: fmt.Sprintf("Scaling/op=%s/goroutines=%d", op.Name, goroutines), Metric: "ns/op", Keys: many, N: each * tenants,
		Fits: func(e workload.Engine, q workload.Queue) bool {
			return e.Op == "" && op.Of(q) != nil || e.Op == op.Name
		},
		Run: func(b *testing.B, e workload.Engine) {
			b.StopTimer()
			others := workload.Tenants(tenants, each, 0)
			own := others
			if !op.Again {
				own = workload.Tenants(tenants, each, each)
			}
			var processors workload.Stopwatch
			for left := (b.N + tenants - 1) / tenants; left > 0; left -= each {
				q := e.New()
				op.Prepare(q, others)
				runtime.GC()
				processors.Start()
				b.StartTimer()
				op.SideBySide(q, goroutines, own, min(left, each))
				b.StopTimer()
				processors.Stop()
				q.ShutDown()
			}
			b.ReportMetric(float64(processors.Used().Nanoseconds())/float64(b.N), "cpu-ns/op")
		},
	}
}
