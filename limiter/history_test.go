package limiter

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
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
	for name, call := range map[string]func(Limiter[int]){
		"one item fails":    func(l Limiter[int]) { l.When(-1) },
		"one item succeeds": func(l Limiter[int]) { l.Forget(-1) },
	} {
		t.Run(name, func(t *testing.T) {
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
		})
	}
}

func TestC31ForgetGivesEverythingBack(t *testing.T) {
	l := NewExponential[int](ms, sec)
	for i := range 200_000 {
		l.When(i)
	}
	require.Greater(t, buckets(l), 200_000/5)
	for i := range 200_000 {
		l.Forget(i)
	}
	require.Zero(t, entries(t, l))
	require.LessOrEqual(t, buckets(l), 64)
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

// TestC31FirstFailuresAtOnceAreAllCounted: several goroutines count the first
// failures of a limiter, which make its map.
func TestC31FirstFailuresAtOnceAreAllCounted(t *testing.T) {
	for range 2000 {
		l := NewExponential[int](ms, sec)
		begin := make(chan struct{})
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { <-begin; l.When(1) })
		}
		close(begin)
		all.Wait()
		require.Equal(t, 4, l.NumRequeues(1))
		require.Equal(t, 1, entries(t, l))
	}
}

// TestC31ConcurrentEverything: each history returns its delays in order, from
// the first, and each once. So for any interleaving an item's n+1st delay is
// returned no more often than its n-th, and its first at most once more than a
// history was deleted. Without deletions the count is that of the failures.
// Between the phases all histories expire.
func TestC31ConcurrentEverything(t *testing.T) {
	const workers, phases, rounds, items = 8, 10, 500, 20
	o, fake := expiring(time.Minute)
	l := NewExponential[int](1, 1<<40, o)
	for phase := range phases {
		var returned [items][41]atomic.Int64
		var forgets [items]atomic.Int64
		var group sync.WaitGroup
		for worker := range workers {
			group.Go(func() {
				random := rand.New(rand.NewPCG(uint64(phase), uint64(worker)))
				for round := range rounds {
					item := random.IntN(items)
					switch random.IntN(8) {
					case 0:
						if item%2 == 0 {
							forgets[item].Add(1)
							l.Forget(item)
						}
					case 1: // the table grows and shrinks
						l.When(-1 - round)
						l.Forget(-1 - round)
					default:
						returned[item][math.Ilogb(float64(l.When(item)))].Add(1)
						if n := l.NumRequeues(item); item%2 == 1 && n < 1 {
							t.Errorf("item %d has failed and has no history", item)
						}
					}
				}
			})
		}
		group.Wait()
		for item := range items {
			failures, more := int64(0), forgets[item].Load()+1
			for n := range len(returned[item]) - 1 { // the last is the largest, which repeats
				count := returned[item][n].Load()
				require.LessOrEqual(t, count, more, "item %d, delay %d", item, n)
				more = count
				failures += count
			}
			if failures += returned[item][40].Load(); item%2 == 1 {
				require.EqualValues(t, failures, l.NumRequeues(item))
			}
		}
		entries(t, l)
		fake.Step(time.Hour)
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
