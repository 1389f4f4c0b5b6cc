package limiter

import (
	"math"
	"testing"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/stretchr/testify/require"
)

// rateLimiter restates the method set of client-go's TypedRateLimiter: the two
// types must be assignable to each other.
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

// always returns a random source that is not random.
func always(x float64) func() float64 { return func() float64 { return x } }

// delays calls When for the item as many times as want is long, and compares.
func requireDelays[T comparable](t *testing.T, l Limiter[T], item T, want ...time.Duration) {
	t.Helper()
	for i, w := range want {
		require.Equal(t, w, l.When(item), "delay of failure %d of %v", i+1, item)
	}
}

// expiring returns options whose histories expire, and the clock they go by.
func expiring(after time.Duration) (Options, *clock.Fake) {
	fake := clock.NewFake(start)
	return Options{Clock: fake, ForgetAfter: after}, fake
}

// entries returns how many histories a per-item limiter holds in memory, expired
// or not, after it has checked the tables they are in.
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

// slots returns the length of all tables of a per-item limiter together.
func slots[T comparable](l Limiter[T]) (total int) {
	if all := l.(*perItem[T]).stripes.Load(); all != nil {
		for i := range all.all {
			total += len(all.all[i].slots)
		}
	}
	return total
}

// checkStripe checks what must hold of a table between any two calls, and
// returns the number of its entries.
func checkStripe[T comparable](t testing.TB, s *stripe[T]) int {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	found := 0
	for i, slot := range s.slots {
		if slot.failures == 0 {
			require.Zero(t, slot, "a vacant slot refers to something")
			continue
		}
		found++
		at, ok := s.findLocked(slot.hash, slot.item)
		require.True(t, ok, "entry %v cannot be found", slot.item)
		require.Equal(t, i, at, "entry %v is there twice", slot.item)
	}
	require.Equal(t, found, s.live)
	require.LessOrEqual(t, found*4, len(s.slots)*3, "table too full")
	require.True(t, found == 0 || s.inUse.Load(), "entries hidden by inUse")
	return found
}
