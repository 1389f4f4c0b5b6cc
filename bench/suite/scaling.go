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

// Scaling returns the benchmarks that measure how work grows with the processors.
// The work is done in a new queue, beside a million keys that are in no cache.
func Scaling() (pairs []Pair) {
	many, tenants := 1_000_000, runtime.GOMAXPROCS(0)
	if testing.Short() {
		many = 10_000
	}
	each := many / tenants
	keys := sync.OnceValue(func() (k sideKeys) {
		k.others, k.news = workload.Tenants(tenants, each, 0), workload.Tenants(tenants, each, each)
		for _, own := range k.others {
			k.again = append(k.again, workload.Shuffled(own))
		}
		return k
	})
	for _, op := range workload.Ops() {
		side := sideBySide{op, keys, each, tenants}
		pairs = append(pairs, Pair{side.by(1), side.by(tenants)})
	}
	return pairs
}

type sideKeys struct {
	others [][]string // beside which an operation is done
	again  [][]string // the same in another order
	news   [][]string
}

type sideBySide struct {
	op            workload.Op
	keys          func() sideKeys
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
	own := keys.news
	if s.op.Again {
		own = keys.again
	}
	var processors workload.Stopwatch
	for left := (b.N + s.tenants - 1) / s.tenants; left > 0; left -= s.each {
		q, some := e.New(), min(left, s.each)
		s.op.Prepare(q, keys.others)
		runtime.GC()
		processors.Start()
		b.StartTimer()
		s.op.SideBySide(q, goroutines, own, some)
		b.StopTimer()
		processors.Stop()
		if err := s.op.Check(q, s.each*s.tenants, some*s.tenants); err != nil {
			b.Error(err)
		}
		q.ShutDown()
	}
	processors.Report(b, b.N)
}
