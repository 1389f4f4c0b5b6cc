package limiter

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/clock"
)

func TestC31H14ClockThatJumps(t *testing.T) {
	o, fake := expiring(time.Minute)
	l := NewExponential[string](sec, time.Hour, o)
	requireDelays(t, l, "x", 1*sec)
	fake.Step(-time.Hour)
	requireDelays(t, l, "x", 2*sec)
	fake.Step(61 * sec)
	require.Equal(t, 2, l.NumRequeues("x"), "its first delay runs for another hour on this clock")
	fake.Step(2 * time.Hour)
	require.Equal(t, 0, l.NumRequeues("x"))
}

// TestC31SweepsTakeMemoryBack: calls for any item free the memory of expired
// histories, and only of those.
func TestC31SweepsTakeMemoryBack(t *testing.T) {
	const items = 20_000
	for _, call := range []func(Limiter[int]){
		func(l Limiter[int]) { l.When(-1) }, func(l Limiter[int]) { l.Forget(-1) },
	} {
		o, fake := expiring(time.Minute)
		l := NewExponential[int](ms, sec, o)
		for i := range items {
			l.When(i)
		}
		fake.Step(time.Minute)
		l.When(0)
		full := buckets(l)
		require.Equal(t, items, entries(t, l), "the delays of 1 ms still run")
		fake.Step(time.Minute)
		for range 1000 {
			call(l)
		}
		require.LessOrEqual(t, entries(t, l), 2)
		require.LessOrEqual(t, buckets(l), full/64)
		require.Equal(t, 2, l.NumRequeues(0))
	}
}

// TestC31NothingIsAllocatedPerCall: a success allocates nothing, and a failure
// one entry of the map. Without ForgetAfter, no clock is read.
func TestC31NothingIsAllocatedPerCall(t *testing.T) {
	o, _ := expiring(time.Hour)
	broken := Options{Clock: struct{ clock.Clock }{}}
	for _, l := range []Limiter[string]{NewExponential[string](ms, sec, broken), DefaultController[string](o)} {
		require.Zero(t, testing.AllocsPerRun(100, func() { l.Forget("x"); l.NumRequeues("x") }), "unused")
		l.When("other")
		require.Zero(t, testing.AllocsPerRun(100, func() { l.Forget("x"); l.NumRequeues("x") }))
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() { l.When("x"); l.NumRequeues("x"); l.Forget("x") }), 1.0)
	}
	require.Nil(t, NewExponential[string](ms, sec).(*perItem[string]).all.Load())
}

// TestC31CallsAtOnceAreAllCounted: several goroutines count the first failures of
// a limiter, which make its map, and then forget them: some of the items are
// shared, the others each goroutine's own.
func TestC31CallsAtOnceAreAllCounted(t *testing.T) {
	const workers, items = 4, 25
	for range 1000 {
		l := NewExponential[int](ms, sec)
		atOnce := func(call func(item int)) {
			begin := make(chan struct{})
			var all sync.WaitGroup
			for worker := range workers {
				all.Go(func() {
					<-begin
					for item := range items {
						call(item)
						call((1+worker)*items + item)
					}
				})
			}
			close(begin)
			all.Wait()
		}
		atOnce(func(item int) { l.When(item) })
		for item := range items {
			require.Equal(t, workers, l.NumRequeues(item))
		}
		require.Equal(t, (1+workers)*items, entries(t, l))
		atOnce(l.Forget)
		require.Zero(t, entries(t, l))
	}
}

// TestC31SweepAgainstWhen: items fail again, or are forgotten, after a sweep has
// seen that their histories have expired.
func TestC31SweepAgainstWhen(t *testing.T) {
	o, fake := expiring(time.Minute)
	l := NewExponential[string](1, sec, o).(*perItem[string])
	l.When("x")
	fake.Step(time.Hour)
	l.When("x")
	l.removeExpired(l.all.Load(), "x", time.Hour)
	l.removeExpired(l.all.Load(), "forgotten", time.Hour)
	require.Equal(t, 1, l.NumRequeues("x"))
	require.Equal(t, 1, entries[string](t, l))
}

// TestC31SweepsAreRare: at most one a second.
func TestC31SweepsAreRare(t *testing.T) {
	o, fake := expiring(1)
	l := NewExponential[int](0, 0, o)
	for item := range 5 {
		l.When(item)
		fake.Step(1)
	}
	require.Equal(t, 5, entries(t, l))
	fake.Step(sec)
	l.When(6)
	require.Equal(t, 1, entries(t, l))
}
