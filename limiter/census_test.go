package limiter

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/shardq/shardq/clock"
)

func censusOf(t *testing.T, l Limiter[int]) Census[int] {
	t.Helper()
	c, ok := l.(Census[int])
	require.True(t, ok, "%T is no Census", l)
	return c
}

func fail(l Limiter[int], item, times int) {
	for range times {
		l.When(item)
	}
}

// TestCensusOfEachLimiter compares the Census of all limiters that keep
// histories.
func TestCensusOfEachLimiter(t *testing.T) {
	exponential := func() Limiter[int] { return NewExponential[int](ms, sec) }
	for name, l := range map[string]Limiter[int]{
		"exponential":    exponential(),
		"fast and slow":  NewFastSlow[int](ms, sec, 2),
		"backoff":        NewItemBackoff[int](Backoff{Duration: ms, Factor: 2, Steps: 5}),
		"max wait":       NewWithMaxWait(exponential(), sec),
		"longest":        NewMaxOf(exponential(), NewBucket[int](rate.NewLimiter(rate.Inf, 1))),
		"the same twice": NewMaxOf(exponential(), NewFastSlow[int](ms, sec, 2)),
		"controller":     DefaultController[int](),
		"items":          DefaultItemBased[int](),
	} {
		t.Run(name, func(t *testing.T) {
			c := censusOf(t, l)
			require.Zero(t, c.Len())
			require.Empty(t, c.MostFailed(10))
			fail(l, 1, 1)
			fail(l, 2, 5)
			fail(l, 3, 3)
			require.Equal(t, 3, c.Len())
			want := []Failed[int]{{2, 5}, {3, 3}, {1, 1}}
			require.Empty(t, c.MostFailed(0))
			for limit := 1; limit <= 4; limit++ {
				require.Equal(t, want[:min(limit, 3)], c.MostFailed(limit))
			}
			require.Equal(t, want, c.MostFailed(math.MaxInt))
			require.Empty(t, c.MostFailed(-1))
			require.Empty(t, c.MostFailed(math.MinInt))
			l.Forget(2)
			require.Equal(t, want[1:], c.MostFailed(10))
			require.Equal(t, 2, c.Len())
		})
	}
}

func TestCensusOfABucket(t *testing.T) {
	l := NewBucket[int](rate.NewLimiter(1, 1))
	fail(l, 1, 3)
	require.Zero(t, censusOf(t, l).Len())
	require.Empty(t, censusOf(t, l).MostFailed(10))
}

// TestCensusOfMany selects the most failed of many items, from all stripes.
func TestCensusOfMany(t *testing.T) {
	l := NewExponential[int](ms, sec)
	for item := range 1000 {
		fail(l, item, 1+item*37%1000) // each number once
	}
	c := censusOf(t, l)
	require.Equal(t, 1000, c.Len())
	for _, limit := range []int{1, 2, 10, 499, 500, 501, 999, 1000, 2000} {
		rows := c.MostFailed(limit)
		require.Len(t, rows, min(limit, 1000))
		for i, row := range rows {
			require.Equal(t, 1000-i, row.Failures)
			require.Equal(t, row.Failures, l.NumRequeues(row.Item))
		}
	}
}

// TestCensusLeavesOutWhatHasExpired: MostFailed omits expired histories. Len
// may still count them.
func TestCensusLeavesOutWhatHasExpired(t *testing.T) {
	fake := clock.NewFake(start)
	l := NewExponential[int](ms, ms, Options{Clock: fake, ForgetAfter: time.Hour})
	fail(l, 1, 3)
	fake.Step(30 * time.Minute)
	fail(l, 2, 2)
	require.Equal(t, []Failed[int]{{1, 3}, {2, 2}}, censusOf(t, l).MostFailed(10))
	fake.Step(31 * time.Minute)
	require.Equal(t, []Failed[int]{{2, 2}}, censusOf(t, l).MostFailed(10))
	fake.Step(time.Hour)
	require.Empty(t, censusOf(t, l).MostFailed(10))
	require.LessOrEqual(t, censusOf(t, l).Len(), 2)
}

// A foreign limiter does not implement Census.
type foreign struct{ failures map[int]int }

func (f foreign) When(item int) time.Duration { f.failures[item]++; return 0 }
func (f foreign) Forget(item int)             { delete(f.failures, item) }
func (f foreign) NumRequeues(item int) int    { return f.failures[item] }

func TestCensusOfForeignLimiters(t *testing.T) {
	alone := func() foreign { return foreign{map[int]int{}} }
	for _, l := range []Limiter[int]{NewWithMaxWait[int](alone(), sec), NewMaxOf[int](alone()), NewMaxOf[int](alone(), alone())} {
		fail(l, 1, 2)
		require.Equal(t, -1, censusOf(t, l).Len(), "unknown")
		require.Empty(t, censusOf(t, l).MostFailed(10))
	}
	require.Zero(t, censusOf(t, NewMaxOf[int]()).Len())
	// NumRequeues of the foreign limiter counts for items that the other
	// reports.
	other := alone()
	l := NewMaxOf(other, NewExponential[int](ms, sec))
	fail(l, 1, 2)
	other.failures[1] = 7
	require.Equal(t, -1, censusOf(t, l).Len(), "the foreign limiter may have more items")
	require.Equal(t, []Failed[int]{{1, 7}}, censusOf(t, l).MostFailed(10))
}

// TestCensusOfLimitersThatDiffer: an item counts once, with its largest count
// in any limiter.
func TestCensusOfLimitersThatDiffer(t *testing.T) {
	a, b := NewExponential[int](ms, sec), NewFastSlow[int](ms, sec, 2)
	l := NewMaxOf(a, b)
	fail(l, 1, 2)
	fail(a, 2, 1)
	fail(b, 2, 5)
	fail(b, 3, 1)
	require.Equal(t, 3, censusOf(t, l).Len(), "the largest")
	require.Equal(t, []Failed[int]{{2, 5}, {1, 2}, {3, 1}}, censusOf(t, l).MostFailed(10))
}

// TestCensusDuringChanges visits the histories of a stripe in several holds of
// its lock. In between, other items come and go, and the table grows and
// shrinks. No history that stays is missed, and each hold visits a bounded
// number.
func TestCensusDuringChanges(t *testing.T) {
	const stay, others = 1000, 9000
	p := newPerItem[int](func(int, float64) time.Duration { return 0 }, Options{})
	hash := func(item int) uint64 { return uint64(uint32(item) * 0x9e3779b1) }
	for run := range 8 {
		s := &stripe[int]{}
		fail := func(item int) { s.fail(p, hash(item), item, p.idle.now(), 0) }
		forget := func(item int) { s.forget(hash(item), item) }
		for item := range stay {
			fail(item)
		}
		seen, slots := map[int]bool{}, map[int]bool{}
		holds := 0
		for c, more := cursor(0), true; more; holds++ {
			visited := 0
			c, more = s.visitLocked(c, func(h *history[int]) {
				visited++
				seen[h.item] = true
			})
			require.LessOrEqual(t, visited, 4*homesPerHold)
			slots[len(s.rest.slots)] = true
			for item := stay; item < stay+others; item++ {
				if (holds+run)%4 < 2 { // grow, and then shrink
					fail(item)
				} else {
					forget(item)
				}
			}
			require.Less(t, holds, 1000)
		}
		require.Greater(t, len(slots), 1, "the length of the table has not changed")
		for item := range stay {
			require.True(t, seen[item], "%d is missing", item)
		}
	}
	most := newMost[int](3)
	for _, f := range []Failed[int]{{1, 5}, {2, 4}, {1, 6}, {3, 3}, {4, 2}, {4, 2}} {
		most.add(f)
	}
	require.Equal(t, []Failed[int]{{1, 5}, {2, 4}, {3, 3}}, most.kept.Values(), "each once")
}
