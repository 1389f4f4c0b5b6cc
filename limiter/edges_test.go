package limiter

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestC31FirstFailuresAtOnceAreAllCounted: several goroutines count the first
// failures of a limiter, which allocate its stripes. All are counted.
func TestC31FirstFailuresAtOnceAreAllCounted(t *testing.T) {
	const goroutines = 4
	for round := range 2000 {
		l := NewExponential[int](time.Millisecond, time.Second)
		begin := make(chan struct{})
		var all sync.WaitGroup
		for range goroutines {
			all.Go(func() { <-begin; l.When(1) })
		}
		close(begin)
		all.Wait()
		if n := l.NumRequeues(1); n != goroutines {
			t.Fatalf("round %d: of %d failures %d were counted", round, goroutines, n)
		}
	}
}

// TestC32StepsGoDownWithoutAFactor: a Backoff that does not grow uses up its
// steps too.
func TestC32StepsGoDownWithoutAFactor(t *testing.T) {
	b := Backoff{Duration: sec, Steps: 2}
	for _, left := range []int{1, -1, -1} {
		require.Equal(t, sec, b.Step())
		require.Equal(t, left, b.Steps)
	}
}

// TestC30NegativeJitterBesideACap: negative jitter counts as none, and leaves
// no share of the Cap unused.
func TestC30NegativeJitterBesideACap(t *testing.T) {
	for _, jitter := range []float64{-0.5, -1, -2} {
		b := Backoff{Duration: sec, Factor: 2, Steps: 9, Cap: 3 * sec, Jitter: jitter}
		requireDelays(t, NewItemBackoff[string](b), "x", sec, 2*sec, 3*sec, 3*sec)
	}
}

// TestC30JitterWithoutACap: without a Cap, no share of it is reserved for
// jitter. The longest delay is the longest Duration.
func TestC30JitterWithoutACap(t *testing.T) {
	b := Backoff{Duration: forever - 5, Jitter: 1}
	requireDelays(t, NewItemBackoff[string](b, Options{Random: always(0)}), "x", forever-5)
	requireDelays(t, NewItemBackoff[string](b, Options{Random: always(1)}), "x", forever)
}

// TestC32NoDelaySetsNoTimer: a Loop without delays does not wait for its clock,
// which stands still here.
func TestC32NoDelaySetsNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options, fake := expiring(0)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		count := 0
		go Loop(ctx, NewManager(Backoff{}, options), FromEnd, func(context.Context) {
			if count++; count == 3 {
				cancel()
			}
		})
		synctest.Wait()
		require.Equal(t, 3, count)
		require.Zero(t, fake.Timers())
	})
}

// TestC31ItemsOfOneHash: items that share the half of their hash that a table
// keeps have separate histories, in the stripe's first history and in its
// table.
func TestC31ItemsOfOneHash(t *testing.T) {
	const hash = 7
	items := []string{"a", "b", "c", "d"}
	p := newPerItem[string](exponential(1, 1000), combine(nil))
	s := &stripe[string]{}
	for range 3 {
		for i, item := range items {
			for range i + 1 {
				s.fail(p, hash, item, 0, 0)
			}
		}
	}
	for i, item := range items {
		require.Equal(t, 3*(i+1), s.failures(p, hash, item, 0), item)
	}
	require.Zero(t, s.failures(p, hash, "e", 0))
	s.forget(hash, "b")
	require.Zero(t, s.failures(p, hash, "b", 0))
	require.Equal(t, 3, s.failures(p, hash, "a", 0))
	require.Equal(t, 12, s.failures(p, hash, "d", 0))
}
