package limiter

import (
	"math"
	"testing"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/stretchr/testify/require"
)

// rateLimiter repeats the method set of client-go's TypedRateLimiter. Values of
// either interface must be assignable to the other.
type rateLimiter[T comparable] interface {
	When(item T) time.Duration
	Forget(item T)
	NumRequeues(item T) int
}

var (
	_ rateLimiter[string] = Limiter[string](nil)
	_ Limiter[string]     = rateLimiter[string](nil)
)

const forever = time.Duration(math.MaxInt64)

var start = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)

// always returns a random source that always returns x.
func always(x float64) func() float64 { return func() float64 { return x } }

// requireDelays calls When once per wanted delay, and compares.
func requireDelays[T comparable](t *testing.T, l Limiter[T], item T, want ...time.Duration) {
	t.Helper()
	for i, w := range want {
		require.Equal(t, w, l.When(item), "delay of failure %d of %v", i+1, item)
	}
}

// expiring returns options with which histories expire, and their clock.
func expiring(after time.Duration) (Options, *clock.Fake) {
	fake := clock.NewFake(start)
	return Options{Clock: fake, ForgetAfter: after}, fake
}

// entries checks the tables of a per-item limiter and returns the number of its
// histories, including expired ones that are not swept yet.
func entries[T comparable](t testing.TB, l Limiter[T]) int {
	t.Helper()
	all := l.(*perItem[T]).stripes.Load()
	if all == nil {
		return 0
	}
	total := 0
	for i := range all.all {
		total += checkStripe(t, &all.all[i])
	}
	return total
}

// slots returns the number of histories that the memory of a per-item limiter
// can hold.
func slots[T comparable](l Limiter[T]) (total int) {
	all := l.(*perItem[T]).stripes.Load()
	if all == nil {
		return 0
	}
	for i := range all.all {
		total++
		if rest := all.all[i].rest; rest != nil {
			total += len(rest.slots)
		}
	}
	return total
}

// checkStripe checks the invariants of a stripe whose lock is free, and returns
// the number of its histories.
func checkStripe[T comparable](t testing.TB, s *stripe[T]) (found int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first.vacant() {
		require.Zero(t, s.first, "a vacant history refers to something")
	} else {
		found++
		require.Nil(t, s.rest.find(s.first.hash, s.first.item), "item %v has two histories", s.first.item)
	}
	if s.rest != nil {
		found += checkTable(t, s.rest)
	}
	require.True(t, found == 0 || s.inUse.Load(), "histories hidden by inUse")
	return found
}

func checkTable[T comparable](t testing.TB, table *table[T]) (found int) {
	t.Helper()
	for i := range table.slots {
		h := &table.slots[i]
		if h.vacant() {
			require.Zero(t, *h, "a vacant slot refers to something")
			continue
		}
		found++
		require.Same(t, h, table.find(h.hash, h.item), "item %v cannot be found, or has two histories", h.item)
	}
	require.Equal(t, found, table.live)
	require.LessOrEqual(t, found*4, len(table.slots)*3, "table too full")
	return found
}
