package contract

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
)

// A modelLimiter is what a limiter must do: it returns the longest delay of its
// parts, and none longer than bound.
type modelLimiter[T comparable] struct {
	parts []*modelHistories[T]
	// bucket is that of package rate, which is the definition.
	bucket *rate.Limiter
	bound  time.Duration
}

// modelHistories count the failures of each item.
type modelHistories[T comparable] struct {
	// delays has the delays of the first failure, of the second, and so on. All
	// that follow have the last.
	delays []time.Duration
	// forgetAfter is 0, or how long a history lasts after its delay has
	// expired.
	forgetAfter time.Duration
	failures    map[T]int
	ends        map[T]time.Duration
}

func (h *modelHistories[T]) numRequeues(item T, now time.Duration) int {
	if h.forgetAfter > 0 && now >= h.ends[item] {
		return 0
	}
	return h.failures[item]
}

func (h *modelHistories[T]) when(item T, now time.Duration) time.Duration {
	failures := h.numRequeues(item, now)
	delay := h.delays[min(failures, len(h.delays)-1)]
	if item == item { // the others have no history
		h.failures[item] = failures + 1
		h.ends[item] = max(h.ends[item], plus(plus(now, delay), h.forgetAfter))
	}
	return delay
}

func (h *modelHistories[T]) forget(item T) {
	delete(h.failures, item)
	delete(h.ends, item)
}

func (l *modelLimiter[T]) when(item T, now time.Duration, date time.Time) (delay time.Duration) {
	for _, part := range l.parts {
		delay = max(delay, part.when(item, now))
	}
	if l.bucket != nil {
		delay = max(delay, l.bucket.ReserveN(date, 1).DelayFrom(date))
	}
	return min(delay, l.bound)
}

func (l *modelLimiter[T]) forget(item T) {
	for _, part := range l.parts {
		part.forget(item)
	}
}

func (l *modelLimiter[T]) numRequeues(item T, now time.Duration) (n int) {
	for _, part := range l.parts {
		n = max(n, part.numRequeues(item, now))
	}
	return n
}

// expires reports whether histories expire.
func (l *modelLimiter[T]) expires() bool {
	for _, part := range l.parts {
		if part.forgetAfter > 0 {
			return true
		}
	}
	return false
}

const ms = time.Millisecond

// limiterKind names a limiter that has a model.
type limiterKind string

const (
	defaultLimiter     limiterKind = "default"
	exponentialLimiter limiterKind = "exponential"
	fastSlowLimiter    limiterKind = "fast-slow"
	bucketLimiter      limiterKind = "bucket"
	maxOfLimiter       limiterKind = "max-of"
	maxWaitLimiter     limiterKind = "max-wait"
	backoffLimiter     limiterKind = "backoff"
	expiringLimiter    limiterKind = "expiring"
)

// newLimiters returns a limiter of a kind, nil for a queue's default, and its
// model.
func newLimiters[T comparable](kind limiterKind, clock clock.Clock) (limiter.Limiter[T], *modelLimiter[T]) {
	onClock := limiter.Options{Clock: clock}
	expiring := limiter.Options{Clock: clock, ForgetAfter: 50 * ms}
	model := func(parts ...*modelHistories[T]) *modelLimiter[T] {
		return &modelLimiter[T]{parts: parts, bound: endOfTime}
	}
	switch kind {
	case exponentialLimiter:
		return limiter.NewExponential[T](3*ms, 100*ms),
			model(histories[T](0, 3*ms, 6*ms, 12*ms, 24*ms, 48*ms, 96*ms, 100*ms))
	case fastSlowLimiter:
		return limiter.NewFastSlow[T](2*ms, 40*ms, 3),
			model(histories[T](0, 2*ms, 2*ms, 2*ms, 40*ms))
	case bucketLimiter:
		m := model()
		m.bucket = rate.NewLimiter(8, 3)
		return limiter.NewBucket[T](rate.NewLimiter(8, 3), onClock), m
	case maxOfLimiter:
		m := model(histories[T](0, 1, 2, 4, 8, 10), histories[T](0, 0, time.Second))
		m.bucket = rate.NewLimiter(1000, 2)
		return limiter.NewMaxOf(
			limiter.NewExponential[T](1, 10),
			limiter.NewBucket[T](rate.NewLimiter(1000, 2), onClock),
			limiter.NewFastSlow[T](0, time.Second, 1),
		), m
	case maxWaitLimiter:
		m := model(histories[T](0, doubling(5*ms, 1000*time.Second)...))
		m.bound = 12 * ms
		return limiter.NewWithMaxWait(limiter.NewExponential[T](5*ms, 1000*time.Second), 12*ms), m
	case backoffLimiter:
		recipe := limiter.Backoff{Duration: 10 * ms, Factor: 3, Steps: 3, Cap: 200 * ms}
		return limiter.NewItemBackoff[T](recipe),
			model(histories[T](0, 10*ms, 30*ms, 90*ms, 200*ms))
	case expiringLimiter:
		return limiter.NewMaxOf(
				limiter.NewExponential[T](ms, time.Second, expiring),
				limiter.NewFastSlow[T](0, 5*ms, 2)),
			model(histories[T](50*ms, doubling(ms, time.Second)...), histories[T](0, 0, 0, 5*ms))
	default:
		return nil, model(histories[T](0, doubling(5*ms, 1000*time.Second)...))
	}
}

func histories[T comparable](forgetAfter time.Duration, delays ...time.Duration) *modelHistories[T] {
	return &modelHistories[T]{delays, forgetAfter, map[T]int{}, map[T]time.Duration{}}
}

// doubling returns base, twice base, and so on up to longest.
func doubling(base, longest time.Duration) (delays []time.Duration) {
	for ; base < longest; base *= 2 {
		delays = append(delays, base)
	}
	return append(delays, longest)
}
