package limiter

import (
	"math"
	"strings"
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

func always(x float64) func() float64 { return func() float64 { return x } }

func requireDelays[T comparable](t *testing.T, l Limiter[T], item T, want ...time.Duration) {
	for i, w := range want {
		require.Equal(t, w, l.When(item), "delay of failure %d of %v", i+1, item)
	}
}

func expiring(after time.Duration) (Options, *clock.Fake) {
	fake := clock.NewFake(start)
	return Options{Clock: fake, ForgetAfter: after}, fake
}

// entries checks the number of a limiter's histories and returns it.
func entries[T comparable](t *testing.T, l Limiter[T]) (n int) {
	for range l.(*perItem[T]).all.Load().Range {
		n++
	}
	require.Equal(t, n, l.(Census[T]).Len())
	return n
}

func buckets[T comparable](l Limiter[T]) int { return l.(*perItem[T]).all.Load().Stats().RootBuckets }

func TestC29DefaultController(t *testing.T) {
	l := DefaultController[string](Options{Clock: clock.NewFake(start)})
	requireDelays(t, l, "one", 5*ms, 10*ms, 20*ms)
	for range 97 {
		l.Forget("two")
		requireDelays(t, l, "two", 5*ms)
	}
	// The burst of 100 is used up, so ten per second remain.
	requireDelays(t, l, "three", 100*ms, 200*ms, 300*ms)
	for range 20 {
		l.When("one")
	}
	require.Equal(t, 1000*sec, l.When("one"))
}

func TestC29NilArgumentsPanicAtOnce(t *testing.T) {
	for want, call := range map[string]func(){
		"NewBucket: bucket is nil, want a *rate.Limiter": func() { NewBucket[int](nil) },
		"NewMaxOf: limiter 1 is nil, want a Limiter":     func() { NewMaxOf(DefaultItemBased[int](), nil) },
		"NewWithMaxWait: limiter is nil, want a Limiter": func() { NewWithMaxWait[int](nil, sec) },
	} {
		require.PanicsWithValue(t, "limiter: "+want, call)
	}
}

func TestOptionsLaterFieldsWin(t *testing.T) {
	fake := clock.NewFake(start)
	o := combine([]Options{{ForgetAfter: time.Hour}, {Clock: fake}, {ForgetAfter: sec, Random: always(0.25)}, {}})
	require.Equal(t, []any{fake, sec, 0.25}, []any{o.Clock, o.ForgetAfter, o.Random()})
	require.Equal(t, clock.Real(), combine(nil).Clock)
	require.Zero(t, combine([]Options{{ForgetAfter: sec}, {ForgetAfter: -1}}).ForgetAfter)
}

func TestC30H16AMillionFailures(t *testing.T) {
	l := NewItemBackoff[int](Backoff{Duration: 1, Factor: 2, Jitter: 2, Steps: math.MaxInt}).(*perItem[int])
	for range 1_000_000 {
		if d := l.When(1); d < 0 {
			t.Fatal(d)
		}
	}
	require.Equal(t, 1_000_000, l.NumRequeues(1))
	l.all.Load().Store(1, history{failures: math.MaxInt32 - 1})
	requireDelays[int](t, l, 1, forever, forever, forever)
	require.Equal(t, math.MaxInt32, l.NumRequeues(1))
}

func TestC16H4ItemsNotEqualToThemselvesAreNotKept(t *testing.T) {
	o, _ := expiring(sec)
	for _, item := range []any{math.NaN(), complex(0, math.NaN()), struct{ x float64 }{math.NaN()}, [2]float64{0, math.NaN()}} {
		l := NewExponential[any](ms, sec, o)
		l.When("other")
		for range 100 {
			require.Equal(t, ms, l.When(item), "%#v: each failure is the first", item)
			require.Zero(t, l.NumRequeues(item))
			l.Forget(item)
		}
		require.Equal(t, 1, entries(t, l))
	}
}

func TestC16H5UnhashableItemsPanicAndChangeNothing(t *testing.T) {
	for _, item := range []any{[]int{1}, func() {}, struct{ x any }{[]int{}}, [1]any{map[int]int{}}} {
		l := NewExponential[any](ms, sec)
		for range 2 {
			require.Panics(t, func() { l.When(item) }, "%T", item)
			require.Panics(t, func() { l.Forget(item) }, "%T", item)
			require.Panics(t, func() { l.NumRequeues(item) }, "%T", item)
			l.When("kept")
		}
		require.Equal(t, 2, l.NumRequeues("kept"))
		require.Equal(t, 1, entries(t, l))
	}
}

// TestC9H6EqualItemsShareAHistory: and others, with equal bits, do not.
func TestC9H6EqualItemsShareAHistory(t *testing.T) {
	l := NewExponential[any](ms, sec)
	target := new(int)
	requireDelays(t, l, any(target), 1*ms)
	*target = 7
	requireDelays(t, l, any(target), 2*ms)
	requireDelays(t, l, any(0.0), 1*ms)
	requireDelays(t, l, any(math.Copysign(0, -1)), 2*ms)
	requireDelays(t, l, any(1), ms)
	requireDelays(t, l, any(int64(1)), ms)
	for _, item := range []any{nil, "", false, struct{}{}, (*int)(nil), new(int), strings.Repeat("x", 1<<20)} {
		requireDelays(t, l, item, 1*ms, 2*ms)
		l.Forget(item)
		require.Zero(t, l.NumRequeues(item))
	}
	require.Equal(t, 4, entries(t, l))
}

// A scripted limiter is a user's, and no Census. It logs its calls.
type scripted struct {
	name     string
	delay    time.Duration
	requeues int
	log      *[]string
	panics   bool
}

func (s *scripted) called(method string) {
	*s.log = append(*s.log, s.name+"."+method)
	if s.panics {
		panic(s.name)
	}
}

func (s *scripted) When(string) time.Duration { s.called("When"); return s.delay }
func (s *scripted) Forget(string)             { s.called("Forget") }
func (s *scripted) NumRequeues(string) int    { s.called("NumRequeues"); return s.requeues }

func TestC29MaxOfAsksEveryLimiter(t *testing.T) {
	var log []string
	a := &scripted{name: "a", delay: -sec, requeues: -7, log: &log}
	b := &scripted{name: "b", delay: 2 * sec, requeues: 3, log: &log}
	l := NewMaxOf[string](a, b, NewExponential[string](sec, sec))
	require.Equal(t, 2*sec, l.When("x"))
	require.Equal(t, 3, l.NumRequeues("x"))
	require.Equal(t, -1, l.(Census[string]).Len(), "unknown")
	require.Equal(t, []Failed[string]{{"x", 3}}, l.(Census[string]).MostFailed(10))
	b.panics, log = true, nil
	require.PanicsWithValue(t, "b", func() { l.When("x") })
	require.Equal(t, []string{"a.When", "b.When"}, log)
	b.panics, b.requeues = false, 0
	require.Equal(t, 2, l.NumRequeues("x"), "the last limiter has counted both")
	b.panics = true
	require.PanicsWithValue(t, "b", func() { l.Forget("x") })
	b.panics = false
	require.Zero(t, l.NumRequeues("x"), "the last limiter has forgotten it")

	bounded := NewWithMaxWait[string](a, sec)
	require.Zero(t, bounded.When("x"))
	require.Equal(t, -1, NewMaxOf(bounded).(Census[string]).Len())
	require.Empty(t, bounded.(Census[string]).MostFailed(10))
	require.Zero(t, NewMaxOf[string]().When("x"))
}

// callback is a clock that calls a function whenever it is read.
type callback struct {
	*clock.Fake
	call func()
}

func (c *callback) Now() time.Time {
	if call := c.call; call != nil {
		c.call = nil // prevents recursion
		defer func() { c.call = call }()
		call()
	}
	return c.Fake.Now()
}

// TestC17H17ClockAndRandomAreCalledWithNoLockHeld: they use the same item, or
// panic, which leaves all state whole.
func TestC17H17ClockAndRandomAreCalledWithNoLockHeld(t *testing.T) {
	source := &callback{Fake: clock.NewFake(start)}
	random := always(0)
	o := Options{Clock: source, ForgetAfter: time.Hour, Random: func() float64 { return random() }}
	l := NewItemBackoff[string](Backoff{Duration: ms, Factor: 2, Jitter: 1}, o)
	calls := 0
	within := func() {
		calls++
		l.When("x")
		l.NumRequeues("x")
		l.Forget("x")
	}
	source.call = within
	random = func() float64 { random = always(0); within(); return 0 }
	requireDelays(t, l, "x", ms)
	source.call = nil
	require.Equal(t, 1, l.NumRequeues("x"))
	require.Greater(t, calls, 2)

	random = func() float64 { panic("random") }
	require.PanicsWithValue(t, "random", func() { l.When("x") })
	random, source.call = always(0), func() { panic("clock") }
	require.PanicsWithValue(t, "clock", func() { l.When("x") })
	require.PanicsWithValue(t, "clock", func() { l.NumRequeues("x") })
	source.call = nil
	require.Equal(t, 1, l.NumRequeues("x"))
	requireDelays(t, l, "x", 2*ms)
}
