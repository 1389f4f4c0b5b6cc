package harness

import (
	"sync/atomic"
	"time"

	"github.com/shardq/shardq/limiter"
)

// limits is the limiter of a round's queue. It panics now and then, and counts
// its calls.
type limits[T comparable] struct {
	limiter.Limiter[T]
	panicker *panicker     // nil: it never panics
	calls    *limiterCalls // nil: calls are not counted
	decode   func(T) int
	counts   bool // it reports its number of items
}

// limiterCalls count the calls of the limiter (C28). They are kept only beside
// a ledger, because their atomics, too, order the operations.
type limiterCalls struct {
	asked, forgotten atomic.Uint64
	// unequal counts the calls with items that are not equal to themselves.
	unequal atomic.Uint64
	// onDelay is called with each delay, before the queue sees it.
	onDelay func(key int, delay time.Duration)
}

func (l limits[T]) When(item T) time.Duration {
	if item != item { //nolint:staticcheck // NaN is not
		if l.calls != nil {
			l.calls.unequal.Add(1)
		}
		return l.Limiter.When(item)
	}
	if l.calls != nil {
		l.calls.asked.Add(1)
	}
	l.panicker.call()
	delay := l.Limiter.When(item)
	if l.calls != nil {
		l.calls.onDelay(l.decode(item), delay)
	}
	return delay
}

func (l limits[T]) Forget(item T) {
	if l.calls != nil {
		l.calls.forgotten.Add(1)
	}
	l.panicker.call()
	l.Limiter.Forget(item)
}

// Len implements [limiter.Census].
func (l limits[T]) Len() int {
	if !l.counts {
		return -1
	}
	return l.Limiter.(limiter.Census[T]).Len()
}

// MostFailed implements [limiter.Census].
func (l limits[T]) MostFailed(limit int) []limiter.Failed[T] {
	return l.Limiter.(limiter.Census[T]).MostFailed(limit)
}

// The limiter of a round doubles its delays from the first to the longest.
const (
	firstLimit   = 100 * time.Microsecond
	longestLimit = 4 * time.Millisecond
)

// checkLimiter compares the calls of the limiter with the records, after all
// actors have left.
func (r *round) checkLimiter(a *account) {
	if r.limiterCalls == nil || !r.features.CallersLimiter {
		return
	}
	b := r.limiterCalls
	if asked := b.asked.Load(); asked < a.limited || asked > a.limited+a.perhapsLimited {
		r.violated.report("C28", -1, "AddRateLimited was called %d times, and the limiter %d times", a.limited, asked)
	}
	late := uint64(0)
	if s, ok := r.queue.stats(); ok {
		late = r.lateEnds(a, s)
	}
	if forgotten := b.forgotten.Load(); forgotten+late < a.forgets || forgotten > a.forgets+a.perhapsForgets {
		r.violated.report("C28", -1, "Forget was called %d times, and the limiter's %d times", a.forgets, forgotten)
	}
	if n := b.unequal.Load(); n > 0 {
		r.violated.report("C16", -1, "the limiter was called %d times with items that are not equal to themselves", n)
	}
}
