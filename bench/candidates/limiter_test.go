package candidates

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/puzpuzpuz/xsync/v3"

	"github.com/shardq/shardq/bench/workload"
	"github.com/shardq/shardq/limiter"
)

// BenchmarkLimiter compares ways to keep the failures of items: package
// limiter's striped table, xsync's concurrent map with a counter behind a
// pointer, the same with the count as its value, and one map under one mutex.
func BenchmarkLimiter(b *testing.B) {
	keys := workload.Strings(1 << 16)
	for _, calls := range []string{"when+forget", "when"} {
		for _, goroutines := range []int{2, 16} {
			for _, state := range []struct {
				name string
				limiter.Limiter[string]
			}{
				{"stripes", limiter.NewExponential[string](5*time.Millisecond, 1000*time.Second)},
				{"xsync-pointer", pointerLimiter{xsync.NewMapOf[string, *atomic.Uint32]()}},
				{"xsync-value", valueLimiter{xsync.NewMapOf[string, uint32]()}},
				{"one-lock", &lockedLimiter{failures: map[string]uint32{}}},
			} {
				name := fmt.Sprintf("calls=%s/goroutines=%d/state=%s", calls, goroutines, state.name)
				b.Run(name, func(b *testing.B) {
					limit(b, state.Limiter, keys, goroutines, calls == "when+forget")
				})
			}
		}
	}
}

func limit(b *testing.B, l limiter.Limiter[string], keys []string, goroutines int, forget bool) {
	b.ReportAllocs()
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range b.N / goroutines {
				key := keys[(g*7919+i)%len(keys)]
				l.When(key)
				if forget {
					l.Forget(key)
				}
			}
		})
	}
	wg.Wait()
}

func doubled(failures uint32) time.Duration { return 5 * time.Millisecond << min(failures, 17) }

type pointerLimiter struct {
	failures *xsync.MapOf[string, *atomic.Uint32]
}

func (l pointerLimiter) When(item string) time.Duration {
	count, ok := l.failures.Load(item)
	if !ok {
		count, _ = l.failures.LoadOrCompute(item, func() *atomic.Uint32 { return new(atomic.Uint32) })
	}
	return doubled(count.Add(1) - 1)
}

func (l pointerLimiter) Forget(item string)     { l.failures.Delete(item) }
func (l pointerLimiter) NumRequeues(string) int { return 0 }

type valueLimiter struct {
	failures *xsync.MapOf[string, uint32]
}

func (l valueLimiter) When(item string) time.Duration {
	count, _ := l.failures.Compute(item, func(count uint32, _ bool) (uint32, bool) { return count + 1, false })
	return doubled(count - 1)
}

func (l valueLimiter) Forget(item string)     { l.failures.Delete(item) }
func (l valueLimiter) NumRequeues(string) int { return 0 }

type lockedLimiter struct {
	mu       sync.Mutex
	failures map[string]uint32
}

func (l *lockedLimiter) When(item string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	count := l.failures[item]
	l.failures[item] = count + 1
	return doubled(count)
}

func (l *lockedLimiter) Forget(item string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.failures, item)
}

func (l *lockedLimiter) NumRequeues(string) int { return 0 }
