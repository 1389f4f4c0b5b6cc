package suite

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/shardq/shardq/bench/workload"
)

// A Pair is the same work by one goroutine, and by one for each processor.
type Pair struct{ One, All Benchmark }

// Scaling returns the benchmarks that measure how work grows with the processors. It
// is done in a new queue, beside a million keys that are in no cache.
func Scaling() (pairs []Pair) {
	many, tenants := 1_000_000, runtime.GOMAXPROCS(0)
	if testing.Short() {
		many = 10_000
	}
	each := many / tenants
	keys := sync.OnceValue(func() [2][][]string {
		return [2][][]string{workload.Tenants(tenants, each, 0), workload.Tenants(tenants, each, each)}
	})
	for _, op := range workload.Ops() {
		side := sideBySide{op, keys, each, tenants}
		pairs = append(pairs, Pair{side.by(1), side.by(tenants)})
	}
	return pairs
}

type sideBySide struct {
	op            workload.Op
	keys          func() [2][][]string // those beside which it is done, and others
	each, tenants int
}

func (s sideBySide) by(goroutines int) Benchmark {
	return Benchmark{
		Name: fmt.Sprintf("Scaling/op=%s/goroutines=%d", s.op.Name, goroutines), Metric: "ns/op", Keys: s.each * s.tenants, N: s.each * s.tenants,
		Fits: func(e workload.Engine, q workload.Queue) bool {
			return e.Op == "" && s.op.Of(q) != nil || e.Op == s.op.Name
		},
		Run: func(b *testing.B, e workload.Engine) { s.run(b, e, goroutines) },
	}
}

func (s sideBySide) run(b *testing.B, e workload.Engine, goroutines int) {
	b.StopTimer()
	keys := s.keys()
	others, own := keys[0], keys[1]
	if s.op.Again {
		own = others
	}
	var processors workload.Stopwatch
	for left := (b.N + s.tenants - 1) / s.tenants; left > 0; left -= s.each {
		q := e.New()
		s.op.Prepare(q, others)
		runtime.GC()
		processors.Start()
		b.StartTimer()
		s.op.SideBySide(q, goroutines, own, min(left, s.each))
		b.StopTimer()
		processors.Stop()
		q.ShutDown()
	}
	b.ReportMetric(float64(processors.Used().Nanoseconds())/float64(b.N), "cpu-ns/op")
}
