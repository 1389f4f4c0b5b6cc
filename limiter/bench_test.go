package limiter

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/time/rate"
)

// benchmarkItems are keys such as controllers use, of about 30 bytes.
var benchmarkItems = func() []string {
	items := make([]string, 1<<16)
	for i := range items {
		items[i] = fmt.Sprintf("namespace-%04d/object-%010d", i%100, i)
	}
	return items
}()

func benchmarkItem(i int) string { return benchmarkItems[i&(len(benchmarkItems)-1)] }

// oneLock is the baseline, with the design of client-go's limiter: one map
// behind one mutex, and the same arithmetic.
type oneLock[T comparable] struct {
	mu        sync.Mutex
	failures  map[T]int
	base, max time.Duration
}

func newOneLock[T comparable](base, max time.Duration) Limiter[T] {
	return &oneLock[T]{failures: map[T]int{}, base: base, max: max}
}

func (l *oneLock[T]) When(item T) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	failures := l.failures[item]
	l.failures[item] = l.failures[item] + 1
	delay := float64(l.base.Nanoseconds()) * math.Pow(2, float64(failures))
	if delay > math.MaxInt64 {
		return l.max
	}
	return min(time.Duration(delay), l.max)
}

func (l *oneLock[T]) Forget(item T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.failures, item)
}

func (l *oneLock[T]) NumRequeues(item T) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failures[item]
}

// A design is an implementation of an exponential limiter.
type design struct {
	name string
	make func() Limiter[string]
}

// designs are the implementations to compare.
var designs = []design{
	{"stripes", func() Limiter[string] { return NewExponential[string](ms, sec) }},
	{"stripes-expiring", func() Limiter[string] {
		return NewExponential[string](ms, sec, Options{ForgetAfter: time.Hour})
	}},
	{"one-lock", func() Limiter[string] { return newOneLock[string](ms, sec) }},
}

// A mix is one operation of a benchmark.
type mix struct {
	name   string
	filled bool // all items have failed before
	call   func(l Limiter[string], i int)
}

var mixes = []mix{
	// An item fails once and then succeeds.
	{"when+forget", false, func(l Limiter[string], i int) {
		l.When(benchmarkItem(i))
		l.Forget(benchmarkItem(i))
	}},
	// The same, with 10,000 other items in between.
	{"when+late-forget", false, func(l Limiter[string], i int) {
		l.When(benchmarkItem(i))
		l.Forget(benchmarkItem(i - 10_000))
	}},
	// The same, three failures each.
	{"3*when+forget", false, func(l Limiter[string], i int) {
		l.When(benchmarkItem(i))
		l.When(benchmarkItem(i))
		l.When(benchmarkItem(i))
		l.Forget(benchmarkItem(i))
	}},
	// All items fail again and again.
	{"when", true, func(l Limiter[string], i int) { l.When(benchmarkItem(i)) }},
	// All items succeed, and none has failed.
	{"forget", false, func(l Limiter[string], i int) { l.Forget(benchmarkItem(i)) }},
}

// BenchmarkParallel measures one operation of a mix, with as many goroutines as
// processors and with eight times as many. Compare designs within one run.
func BenchmarkParallel(b *testing.B) {
	for _, m := range mixes {
		for _, perProcessor := range []int{1, 8} {
			for _, d := range designs {
				workers := perProcessor * runtime.GOMAXPROCS(0)
				b.Run(fmt.Sprintf("mix=%s/workers=%d/design=%s", m.name, workers, d.name), func(b *testing.B) {
					l := d.make()
					if m.filled {
						fill(l)
					}
					benchmarkParallel(b, perProcessor, func(i int) { m.call(l, i) })
				})
			}
		}
	}
}

func fill(l Limiter[string]) {
	for _, item := range benchmarkItems {
		l.When(item)
	}
}

// benchmarkParallel calls call with consecutive numbers. Each worker begins at
// a different one.
func benchmarkParallel(b *testing.B, perProcessor int, call func(i int)) {
	var worker atomic.Int64
	b.SetParallelism(perProcessor)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for i := int(worker.Add(1)) * 7919; pb.Next(); i++ {
			call(i)
		}
	})
}

// BenchmarkWhen measures When of items with a history for every limiter,
// serially.
func BenchmarkWhen(b *testing.B) {
	spread := Backoff{Duration: ms, Factor: 2, Jitter: 0.5, Steps: 20, Cap: sec}
	limiters := []design{
		{"exponential", func() Limiter[string] { return NewExponential[string](ms, sec) }},
		{"fast-slow", func() Limiter[string] { return NewFastSlow[string](ms, sec, 3) }},
		{"item-backoff", func() Limiter[string] { return NewItemBackoff[string](spread) }},
		{"bucket", func() Limiter[string] { return NewBucket[string](rate.NewLimiter(1e12, 1)) }},
		{"with-max-wait", func() Limiter[string] { return NewWithMaxWait(DefaultItemBased[string](), sec) }},
		{"default-controller", func() Limiter[string] { return DefaultController[string]() }},
		{"default-item-based", func() Limiter[string] { return DefaultItemBased[string]() }},
	}
	for _, d := range limiters {
		b.Run("limiter="+d.name, func(b *testing.B) {
			l := d.make()
			fill(l)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				l.When(benchmarkItem(i))
				i++
			}
		})
	}
}

func BenchmarkBackoffStep(b *testing.B) {
	for _, jitter := range []float64{0, 0.5} {
		b.Run(fmt.Sprintf("jitter=%g", jitter), func(b *testing.B) {
			recipe := Backoff{Duration: ms, Factor: 2, Jitter: jitter, Steps: 10, Cap: sec}
			b.ReportAllocs()
			steps := recipe
			for b.Loop() {
				if steps.Steps == 0 {
					steps = recipe
				}
				steps.Step()
			}
		})
	}
}

func BenchmarkManagerStep(b *testing.B) {
	m := NewManager(Backoff{Duration: ms, Factor: 2, Steps: 10, Cap: sec}, Options{ForgetAfter: time.Hour})
	b.ReportAllocs()
	for b.Loop() {
		m.Step()
	}
}

// BenchmarkMemory reports the heap per history, without its item, for a million
// of them, and what remains after all are forgotten.
func BenchmarkMemory(b *testing.B) {
	items := make([]string, 1_000_000)
	for i := range items {
		items[i] = fmt.Sprintf("namespace-%04d/object-%010d", i%100, i)
	}
	for _, d := range designs {
		b.Run("design="+d.name, func(b *testing.B) {
			for b.Loop() {
				before := heap()
				l := d.make()
				for _, item := range items {
					l.When(item)
				}
				filled := heap()
				for _, item := range items {
					l.Forget(item)
				}
				empty := heap()
				runtime.KeepAlive(l)
				b.ReportMetric(float64(filled-before)/float64(len(items)), "B/item")
				b.ReportMetric(float64(empty)-float64(before), "B-left")
			}
		})
	}
	runtime.KeepAlive(items)
}

// heap returns the number of bytes of live objects.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
