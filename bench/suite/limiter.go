package suite

import (
	"fmt"
	"testing"

	"github.com/shardq/shardq/bench/workload"
)

// A NamedLimiter is a limiter to measure.
type NamedLimiter[T comparable] struct {
	Name string
	New  func() workload.Limiter[T]
}

// Limiters measures When and Forget of one item after the other, in goroutines
// that start at different places of the stream.
func Limiters[T comparable](b *testing.B, limiters []NamedLimiter[T], makeKeys func(int) []T) {
	const n = 1 << 16
	stream := workload.Uniform(makeKeys(n))
	for _, goroutines := range []int{1, 8} {
		for _, l := range limiters {
			b.Run(fmt.Sprintf("goroutines=%d/keys=%s/limiter=%s", goroutines, Count(n), l.Name), func(b *testing.B) {
				limiter := l.New()
				b.ReportAllocs()
				b.ResetTimer()
				workload.LimiterCycle(limiter, stream, goroutines, b.N)
			})
		}
	}
}
