package limiter

import (
	"fmt"
	"testing"
)

// BenchmarkLimiter measures successes of items without a history, alone and
// beside many histories, failures that a success follows, and others.
func BenchmarkLimiter(b *testing.B) {
	items := make([]string, 1<<16) // keys such as controllers use
	for i := range items {
		items[i] = fmt.Sprintf("namespace-%04d/object-%010d", i%100, i)
	}
	failing, forgotten := items[:1<<15], items[1<<15:]
	for _, c := range []struct {
		call   string
		failed []string
		do     func(l Limiter[string], i int)
	}{
		{"forget", nil, func(l Limiter[string], i int) { l.Forget(forgotten[i]) }},
		{"forget-beside-others", failing, func(l Limiter[string], i int) { l.Forget(forgotten[i]) }},
		{"requeues-beside-others", failing, func(l Limiter[string], i int) { l.NumRequeues(forgotten[i]) }},
		{"when+forget", nil, func(l Limiter[string], i int) { l.When(failing[i]); l.Forget(failing[i]) }},
		{"when", failing, func(l Limiter[string], i int) { l.When(failing[i]) }},
	} {
		b.Run("call="+c.call, func(b *testing.B) {
			l := NewExponential[string](ms, sec)
			l.When("makes the table")
			l.Forget("makes the table")
			for _, item := range c.failed {
				l.When(item)
			}
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); i++ {
					c.do(l, i%(1<<15))
				}
			})
		})
	}
}
