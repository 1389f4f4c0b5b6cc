package limiter

import (
	"math"
	"math/big"
	"time"

	"golang.org/x/time/rate"
)

// A naive limiter returns the bounds of the right answer. They are equal if no
// fraction is rounded.
type naive interface {
	when(item int, now time.Time) bounds
	forget(item int)
	requeues(item int, now time.Time) int
}

type bounds struct{ least, most time.Duration }

func exactly(d time.Duration) bounds { return bounds{d, d} }

// exact is the model of the limiters that count failures and compute with
// integers only.
type exact struct{ *model }

func newExact(o Options, delay func(int) time.Duration) exact {
	return exact{&model{delay: delay, after: o.ForgetAfter, items: map[int]modelHistory{}}}
}

func (e exact) when(item int, now time.Time) bounds {
	e.now = now
	return exactly(e.When(item))
}

func (e exact) forget(item int) { e.Forget(item) }

func (e exact) requeues(item int, now time.Time) int {
	e.now = now
	return e.NumRequeues(item)
}

// naiveBackoff multiplies once per failure.
type naiveBackoff struct {
	Backoff
	drawn    float64 // replaces all random numbers
	failures map[int]int
}

func (n *naiveBackoff) when(item int, _ time.Time) bounds {
	delay, jitter, drawn := float64(max(n.Duration, 0)), 0.0, max(0, min(n.drawn, 1))
	if n.Jitter > 0 {
		jitter = n.Jitter
	}
	longest, spreadable := forever, float64(forever)
	if n.Cap > 0 {
		longest = n.Cap
		spreadable = max(float64(longest)/(1+jitter), 1)
	}
	steps := n.failures[item]
	if n.Steps != 0 {
		steps = min(steps, n.Steps)
	}
	for range steps {
		if n.Factor > 0 && delay > 0 {
			delay *= n.Factor
		}
	}
	n.failures[item]++
	delay = min(delay, spreadable)
	spread := 1.0
	if drawn > 0 {
		spread = min(1+drawn*jitter, math.MaxFloat64)
	}
	return rounded(delay, spread, longest)
}

// rounded returns delay·spread, widened by what rounding may change in either.
func rounded(delay, spread float64, longest time.Duration) bounds {
	const relative, absolute = 1e-9, 2
	if delay == 0 {
		return exactly(0)
	}
	least := max(0, delay*(1-relative)-absolute) * spread
	most := (delay*(1+relative)+absolute)*spread + absolute
	return bounds{min(toDuration(least), longest), min(toDuration(most), longest)}
}

func toDuration(x float64) time.Duration {
	exact, _ := big.NewFloat(max(0, min(x, math.MaxInt64))).Int64() // saturates
	return time.Duration(exact)
}

func (n *naiveBackoff) forget(item int)                    { delete(n.failures, item) }
func (n *naiveBackoff) requeues(item int, _ time.Time) int { return n.failures[item] }

// naiveBucket earns limit tokens per second, up to burst. Failures take tokens,
// and may leave a debt.
type naiveBucket struct {
	limit, burst, tokens float64
	last                 time.Time
}

func (b *naiveBucket) when(_ int, now time.Time) bounds {
	switch {
	case b.limit == float64(rate.Inf):
		return exactly(0)
	case b.burst <= 0:
		return exactly(forever)
	case math.IsNaN(b.limit) || math.IsInf(b.limit, 1):
		return exactly(0)
	}
	if now.After(b.last) && b.limit > 0 {
		b.tokens = min(b.burst, b.tokens+now.Sub(b.last).Seconds()*b.limit)
	}
	b.last = now
	b.tokens--
	if b.tokens >= 0 {
		return exactly(0)
	}
	if b.limit <= 0 {
		return exactly(forever)
	}
	wait := -b.tokens / b.limit * float64(time.Second)
	return rounded(wait, 1, forever)
}

func (b *naiveBucket) forget(int)                  {}
func (b *naiveBucket) requeues(int, time.Time) int { return 0 }

type naiveMaxOf []naive

func (n naiveMaxOf) when(item int, now time.Time) (longest bounds) {
	for _, part := range n {
		b := part.when(item, now)
		longest = bounds{max(longest.least, b.least), max(longest.most, b.most)}
	}
	return longest
}

func (n naiveMaxOf) forget(item int) {
	for _, part := range n {
		part.forget(item)
	}
}

func (n naiveMaxOf) requeues(item int, now time.Time) (most int) {
	for _, part := range n {
		most = max(most, part.requeues(item, now))
	}
	return most
}

type naiveMaxWait struct {
	naive
	longest time.Duration
}

func (n naiveMaxWait) when(item int, now time.Time) bounds {
	b, longest := n.naive.when(item, now), max(n.longest, 0)
	return bounds{min(b.least, longest), min(b.most, longest)}
}
