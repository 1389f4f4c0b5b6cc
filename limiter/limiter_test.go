package limiter

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

func TestC29ExponentialDoublesPerItem(t *testing.T) {
	l := NewExponential[string](ms, sec)
	requireDelays(t, l, "one", 1*ms, 2*ms, 4*ms, 8*ms, 16*ms, 32*ms, 64*ms, 128*ms, 256*ms, 512*ms, sec, sec)
	require.Equal(t, 12, l.NumRequeues("one"))

	requireDelays(t, l, "two", 1*ms, 2*ms)
	require.Equal(t, 2, l.NumRequeues("two"))

	l.Forget("one")
	require.Equal(t, 0, l.NumRequeues("one"))
	require.Equal(t, 2, l.NumRequeues("two"))
	requireDelays(t, l, "one", ms)
}

func TestC29ForgetOfAnUnknownItemDoesNothing(t *testing.T) {
	l := NewExponential[string](ms, sec)
	l.Forget("never seen")
	require.Equal(t, 0, l.NumRequeues("never seen"))
	requireDelays(t, l, "seen", ms)
	l.Forget("never seen")
	require.Equal(t, 1, l.NumRequeues("seen"))
}

func TestC29FastSlow(t *testing.T) {
	l := NewFastSlow[string](5*ms, 10*sec, 3)
	requireDelays(t, l, "one", 5*ms, 5*ms, 5*ms, 10*sec, 10*sec)
	require.Equal(t, 5, l.NumRequeues("one"))
	requireDelays(t, l, "two", 5*ms)
	l.Forget("one")
	require.Equal(t, 0, l.NumRequeues("one"))
	requireDelays(t, l, "one", 5*ms)
}

func TestC29Bucket(t *testing.T) {
	fake := clock.NewFake(start)
	l := NewBucket[string](rate.NewLimiter(10, 2), Options{Clock: fake})
	requireDelays(t, l, "one", 0, 0, 100*ms)
	requireDelays(t, l, "two", 200*ms, 300*ms)
	require.Equal(t, 0, l.NumRequeues("one"))
	l.Forget("one")
	requireDelays(t, l, "one", 400*ms)

	fake.Step(500 * ms) // earns five tokens, which pay the debt of four and leave one
	requireDelays(t, l, "one", 0, 100*ms)
	fake.Step(time.Hour)
	requireDelays(t, l, "one", 0, 0, 100*ms)
}

func TestC29BucketSharedByTwoLimiters(t *testing.T) {
	shared := rate.NewLimiter(1, 1)
	fake := Options{Clock: clock.NewFake(start)}
	a, b := NewBucket[string](shared, fake), NewBucket[int](shared, fake)
	requireDelays(t, a, "one", 0)
	requireDelays(t, b, 1, sec)
	requireDelays(t, a, "one", 2*sec)
}

func TestC29MaxOf(t *testing.T) {
	l := NewMaxOf(NewFastSlow[string](5*ms, 3*sec, 3), NewExponential[string](ms, sec))
	requireDelays(t, l, "one", 5*ms, 5*ms, 5*ms, 3*sec, 3*sec)
	require.Equal(t, 5, l.NumRequeues("one"))
	l.Forget("one")
	require.Equal(t, 0, l.NumRequeues("one"))
	requireDelays(t, l, "one", 5*ms)
}

func TestC29MaxOfAsksEveryLimiter(t *testing.T) {
	var log []string
	a := &scripted{name: "a", delay: -sec, requeues: -7, log: &log}
	b := &scripted{name: "b", delay: 2 * sec, requeues: 3, log: &log}
	c := &scripted{name: "c", delay: sec, requeues: 5, log: &log}
	l := NewMaxOf[string](a, b, c)
	require.Equal(t, 2*sec, l.When("x"))
	require.Equal(t, 5, l.NumRequeues("x"))
	l.Forget("x")
	require.Equal(t, []string{
		"a.When", "b.When", "c.When",
		"a.NumRequeues", "b.NumRequeues", "c.NumRequeues",
		"a.Forget", "b.Forget", "c.Forget",
	}, log)
}

func TestC29MaxOfOfNoneAndOfNegatives(t *testing.T) {
	none := NewMaxOf[string]()
	require.Zero(t, none.When("x"))
	require.Zero(t, none.NumRequeues("x"))
	none.Forget("x")

	negative := NewMaxOf[string](&scripted{delay: -sec, requeues: -1}, &scripted{delay: -2 * sec, requeues: -2})
	require.Zero(t, negative.When("x"))
	require.Zero(t, negative.NumRequeues("x"))
}

func TestC29MaxOfCopiesItsArgument(t *testing.T) {
	given := []Limiter[string]{NewFastSlow[string](ms, ms, 0)}
	l := NewMaxOf(given...)
	given[0] = NewFastSlow[string](sec, sec, 0)
	requireDelays(t, l, "x", ms)
}

func TestC29WithMaxWait(t *testing.T) {
	l := NewWithMaxWait(NewExponential[string](ms, 1000*sec), 5*ms)
	requireDelays(t, l, "x", 1*ms, 2*ms, 4*ms, 5*ms, 5*ms)
	require.Equal(t, 5, l.NumRequeues("x"))
	l.Forget("x")
	require.Equal(t, 0, l.NumRequeues("x"))
	requireDelays(t, l, "x", ms)
}

func TestC29DefaultController(t *testing.T) {
	l := DefaultController[string](Options{Clock: clock.NewFake(start)})
	requireDelays(t, l, "one", 5*ms, 10*ms, 20*ms)
	for range 97 {
		l.Forget("two")
		requireDelays(t, l, "two", 5*ms)
	}
	// The burst of 100 is used up, so ten per second remain.
	requireDelays(t, l, "three", 100*ms, 200*ms, 300*ms)
	require.Equal(t, 3, l.NumRequeues("three"))
	for range 20 {
		l.When("four")
	}
	require.Equal(t, 1000*sec, l.When("four"))
}

func TestC29DefaultItemBased(t *testing.T) {
	l := DefaultItemBased[string]()
	requireDelays(t, l, "one", 1*ms, 2*ms, 4*ms)
	for range 20 {
		l.When("one")
	}
	require.Equal(t, 1000*sec, l.When("one"))
}

func TestC29NilArgumentsPanicAtOnce(t *testing.T) {
	require.PanicsWithValue(t, "limiter: NewBucket: bucket is nil, want a *rate.Limiter", func() { NewBucket[string](nil) })
	require.PanicsWithValue(t, "limiter: NewMaxOf: limiter 1 is nil, want a Limiter", func() {
		NewMaxOf(NewExponential[string](ms, sec), nil)
	})
	require.PanicsWithValue(t, "limiter: NewWithMaxWait: limiter is nil, want a Limiter", func() {
		NewWithMaxWait[string](nil, sec)
	})
}

// scripted is a user's limiter that returns given answers and logs its calls.
type scripted struct {
	name     string
	delay    time.Duration
	requeues int
	log      *[]string
	panics   bool
}

func (s *scripted) called(method string) {
	if s.log != nil {
		*s.log = append(*s.log, s.name+"."+method)
	}
	if s.panics {
		panic(s.name)
	}
}

func (s *scripted) When(string) time.Duration { s.called("When"); return s.delay }
func (s *scripted) Forget(string)             { s.called("Forget") }
func (s *scripted) NumRequeues(string) int    { s.called("NumRequeues"); return s.requeues }

func TestOptionsLaterFieldsWin(t *testing.T) {
	fake := clock.NewFake(start)
	o := combine([]Options{{ForgetAfter: time.Hour}, {Clock: fake}, {ForgetAfter: sec, Random: always(0.25)}, {}})
	require.Same(t, fake, o.Clock)
	require.Equal(t, sec, o.ForgetAfter)
	require.Equal(t, 0.25, o.Random())

	defaults := combine(nil)
	require.Equal(t, clock.Real(), defaults.Clock)
	require.Zero(t, defaults.ForgetAfter)
	require.Less(t, defaults.Random(), 1.0)

	require.Zero(t, combine([]Options{{ForgetAfter: sec}, {ForgetAfter: -1}}).ForgetAfter)
}

// extremeDurations are the parameters to try.
var extremeDurations = []time.Duration{
	math.MinInt64, -time.Hour, -1, 0, 1, 2, 3, 999, ms, sec, 1000 * sec, time.Hour,
	forever / 2, forever/2 + 1, forever - 1, forever,
}

func TestC30H16ExponentialStaysWithinBounds(t *testing.T) {
	counts := []int{math.MaxInt32, math.MaxInt}
	for n := range 200 {
		counts = append(counts, n)
	}
	for _, base := range extremeDurations {
		for _, limit := range extremeDurations {
			delay := exponential(base, limit)
			previous := time.Duration(0)
			slices.Sort(counts)
			for _, n := range counts {
				d := delay(n, 0)
				require.GreaterOrEqual(t, d, previous, "base %d, max %d, %d failures", base, limit, n)
				require.LessOrEqual(t, d, max(limit, 0), "base %d, max %d, %d failures", base, limit, n)
				previous = d
			}
			if base > 0 {
				require.Equal(t, max(limit, 0), previous, "base %d never reaches max %d", base, limit)
			} else {
				require.Zero(t, previous)
			}
		}
	}
}

func TestC30H16AMillionFailures(t *testing.T) {
	limiters := map[string]Limiter[int]{
		"exponential 1ns":      NewExponential[int](1, forever),
		"exponential 5ms":      NewExponential[int](5*ms, 1000*sec),
		"exponential 0":        NewExponential[int](0, sec),
		"exponential negative": NewExponential[int](-sec, sec),
		"exponential low max":  NewExponential[int](sec, ms),
		"fast and slow":        NewFastSlow[int](ms, sec, 500_000),
		"backoff":              NewItemBackoff[int](Backoff{Duration: 1, Factor: 1.5, Jitter: 0.5, Steps: math.MaxInt, Cap: forever}),
		"backoff uncapped":     NewItemBackoff[int](Backoff{Duration: 1, Factor: 2, Jitter: 2, Steps: math.MaxInt}),
		"default":              DefaultController[int](),
	}
	for name, l := range limiters {
		t.Run(name, func(t *testing.T) {
			lowest, highest := forever, time.Duration(math.MinInt64)
			for range 1_000_000 {
				d := l.When(1)
				lowest, highest = min(lowest, d), max(highest, d)
			}
			require.GreaterOrEqual(t, lowest, time.Duration(0))
			require.Equal(t, 1_000_000, l.NumRequeues(1))
			if name == "exponential low max" {
				require.Equal(t, ms, highest)
			}
		})
	}
}

func TestC30H16CountStopsAtItsLimit(t *testing.T) {
	l := NewExponential[string](ms, sec)
	l.When("x")
	all := l.(*perItem[string]).stripes.Load().all
	for i := range all {
		if h := &all[i].first; !h.vacant() {
			h.failures = maxFailures - 1
		}
	}
	requireDelays(t, l, "x", sec, sec, sec)
	require.Equal(t, maxFailures, l.NumRequeues("x"))
}

func TestC30H16FastSlowNegativeParameters(t *testing.T) {
	requireDelays(t, NewFastSlow[string](-ms, -sec, 1), "x", 0, 0)
	requireDelays(t, NewFastSlow[string](ms, sec, math.MinInt), "x", sec, sec)
	requireDelays(t, NewFastSlow[string](ms, sec, 0), "x", sec, sec)
	requireDelays(t, NewFastSlow[string](ms, sec, math.MaxInt), "x", ms, ms)
}

func TestC30H16WithMaxWaitStaysWithinBounds(t *testing.T) {
	for _, delay := range extremeDurations {
		for _, limit := range extremeDurations {
			d := NewWithMaxWait[string](&scripted{delay: delay}, limit).When("x")
			require.GreaterOrEqual(t, d, time.Duration(0), "delay %d, max %d", delay, limit)
			require.LessOrEqual(t, d, max(limit, 0), "delay %d, max %d", delay, limit)
		}
	}
}

func TestC30H16BucketExtremes(t *testing.T) {
	limits := []rate.Limit{
		rate.Inf, -rate.Inf, rate.Limit(math.Inf(1)), rate.Limit(math.Inf(-1)), rate.Limit(math.NaN()),
		0, -1, 1, 1e9, 1e18, 1e300, 1e-9, 1e-300, math.SmallestNonzeroFloat64, 1e9 / (1 << 63),
	}
	steps := []time.Duration{0, 1, sec, -time.Hour, time.Hour, forever, math.MinInt64}
	for _, limit := range limits {
		for _, burst := range []int{math.MinInt, -1, 0, 1, 100, math.MaxInt} {
			fake := clock.NewFake(start)
			l := NewBucket[string](rate.NewLimiter(limit, burst), Options{Clock: fake})
			for _, step := range steps {
				for range 5 {
					require.GreaterOrEqual(t, l.When("x"), time.Duration(0), "limit %g, burst %d", limit, burst)
				}
				fake.Step(step)
			}
		}
	}
}

func TestC30H16BucketThatNeverGrants(t *testing.T) {
	fixed := Options{Clock: clock.NewFake(start)}
	requireDelays(t, NewBucket[string](rate.NewLimiter(10, 0), fixed), "x", forever, forever)
	requireDelays(t, NewBucket[string](rate.NewLimiter(10, -3), fixed), "x", forever, forever)
	requireDelays(t, NewBucket[string](rate.NewLimiter(0, 2), fixed), "x", 0, 0, forever, forever)
	requireDelays(t, NewBucket[string](rate.NewLimiter(-5, 1), fixed), "x", 0, forever)
	requireDelays(t, NewBucket[string](rate.NewLimiter(1e-12, 1), fixed), "x", 0, forever, forever)
	requireDelays(t, NewBucket[string](rate.NewLimiter(rate.Inf, 0), fixed), "x", 0, 0)
	requireDelays(t, NewBucket[string](rate.NewLimiter(rate.Limit(math.NaN()), 1), fixed), "x", 0, 0)
	requireDelays(t, NewBucket[string](rate.NewLimiter(rate.Limit(math.Inf(1)), 1), fixed), "x", 0, 0, 0)
}
