package limiter

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/shardq/shardq/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ms      = time.Millisecond
	sec     = time.Second
	forever = time.Duration(math.MaxInt64)
)

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

// entries checks the number of a limiter's histories and returns it.
func entries[T comparable](t *testing.T, l Limiter[T]) (n int) {
	t.Helper()
	for range l.(*perItem[T]).all.Load().Range {
		n++
	}
	require.Equal(t, n, l.(Census[T]).Len())
	return n
}

// buckets returns the length of a limiter's table.
func buckets[T comparable](l Limiter[T]) int { return l.(*perItem[T]).all.Load().Stats().RootBuckets }
