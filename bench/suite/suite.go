// Package suite makes Go benchmarks of the functions of package workload, so
// that a comparison with other engines runs the benchmarks of this module.
// Sub-benchmarks are named key=value, as golang.org/x/perf reads them.
package suite

import (
	"fmt"
	"testing"

	"github.com/shardq/shardq/bench/workload"
)

// label names the sub-benchmarks of an engine.
func label[T comparable](e workload.Engine[T]) string {
	return fmt.Sprintf("engine=%s/shards=%d", e.Name, e.Shards)
}

// Count formats a number for the name of a benchmark: 64k for 65536, 1M for a
// million.
func Count(n int) string {
	switch {
	case n >= 1_000_000 && n%1_000_000 == 0:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n >= 1000 && n%1000 == 0:
		return fmt.Sprintf("%dk", n/1000)
	case n >= 1024 && n%1024 == 0:
		return fmt.Sprintf("%dk", n/1024)
	default:
		return fmt.Sprint(n)
	}
}

// small reports whether to leave out what takes long or needs gigabytes.
func small() bool { return testing.Short() }

// forEach runs a sub-benchmark for each engine that accepts that number of
// keys.
func forEach[T comparable](b *testing.B, engines []workload.Engine[T], keys int, body func(*testing.B, workload.Engine[T])) {
	for _, e := range engines {
		if e.Accepts(keys) {
			b.Run(label(e), func(b *testing.B) { body(b, e) })
		}
	}
}

// reportItems adds the rate to a benchmark that has passed items through a
// queue.
func reportItems(b *testing.B, items int) {
	b.ReportMetric(float64(items)/b.Elapsed().Seconds(), "items/s")
}
