package limiter

import (
	"testing"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

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

// lockedStripes returns the number of stripes whose lock is held.
func lockedStripes[T comparable](l Limiter[T]) (locked int) {
	all := l.(*perItem[T]).stripes.Load()
	if all == nil {
		return 0
	}
	for i := range all.all {
		if all.all[i].mu.TryLock() {
			all.all[i].mu.Unlock()
		} else {
			locked++
		}
	}
	return locked
}

func TestC17ClockAndRandomAreCalledWithNoLockHeld(t *testing.T) {
	var l Limiter[string]
	calls := 0
	check := func() {
		if l == nil {
			return // the constructor reads the clock
		}
		calls++
		require.Zero(t, lockedStripes(l))
		l.When("from within")
		l.NumRequeues("x")
		l.Forget("from within")
	}
	source := &callback{Fake: clock.NewFake(start), call: check}
	random := 0
	o := Options{Clock: source, ForgetAfter: time.Hour, Random: func() float64 {
		if random++; random%2 == 1 { // the check draws the next one
			check()
		}
		return 0
	}}
	l = NewItemBackoff[string](Backoff{Duration: ms, Factor: 2, Jitter: 1, Steps: 5}, o)
	requireDelays(t, l, "x", ms)
	for range 500 {
		l.Forget("y") // sweeps
		l.NumRequeues("x")
	}
	require.Greater(t, calls, 500)
	require.Equal(t, 1, l.NumRequeues("x"))
}

func TestC17H17PanicsLeaveAllStateWhole(t *testing.T) {
	source := &callback{Fake: clock.NewFake(start)}
	panicking := false
	o := Options{Clock: source, ForgetAfter: time.Hour, Random: func() float64 {
		if panicking {
			panic("random")
		}
		return 0
	}}
	l := NewItemBackoff[string](Backoff{Duration: ms, Factor: 2, Jitter: 1, Steps: 5}, o)
	requireDelays(t, l, "x", ms)

	panicking = true
	require.PanicsWithValue(t, "random", func() { l.When("x") })
	panicking = false
	source.call = func() { panic("clock") }
	require.PanicsWithValue(t, "clock", func() { l.When("x") })
	require.PanicsWithValue(t, "clock", func() { l.NumRequeues("x") })
	source.call = nil

	require.Zero(t, lockedStripes(l))
	require.Equal(t, 1, l.NumRequeues("x"))
	requireDelays(t, l, "x", 2*ms)
	l.Forget("x")
	requireDelays(t, l, "x", ms)
}

func TestC17H17ForgetHasForgottenWhenTheSweepPanics(t *testing.T) {
	source := &callback{Fake: clock.NewFake(start)}
	l := NewExponential[int](ms, sec, Options{Clock: source, ForgetAfter: time.Hour})
	for i := range 1000 { // every stripe in use, so that each Forget sweeps
		l.When(i)
	}
	panics := 0
	source.call = func() { panics++; panic("clock") }
	for i := range 500 {
		func() {
			defer func() { _ = recover() }()
			l.Forget(i)
		}()
	}
	source.call = nil
	require.Positive(t, panics)
	require.Zero(t, lockedStripes(l))
	require.Equal(t, 500, entries(t, l))
	require.Equal(t, 0, l.NumRequeues(499))
	require.Equal(t, 1, l.NumRequeues(500))
}

func TestC17H17MaxOfCallsAllEvenIfOnePanics(t *testing.T) {
	var log []string
	l := NewMaxOf[string](
		&scripted{name: "a", log: &log},
		&scripted{name: "b", log: &log, panics: true},
		&scripted{name: "c", log: &log},
	)
	require.PanicsWithValue(t, "b", func() { l.When("x") })
	require.PanicsWithValue(t, "b", func() { l.Forget("x") })
	require.PanicsWithValue(t, "b", func() { l.NumRequeues("x") })
	require.Equal(t, []string{
		"a.When", "b.When", "c.When",
		"a.Forget", "b.Forget", "c.Forget",
		"a.NumRequeues", "b.NumRequeues", // changes nothing, so it may stop here
	}, log)
}

func TestC17H17WithMaxWaitPassesPanicsThrough(t *testing.T) {
	l := NewWithMaxWait[string](&scripted{name: "a", panics: true}, sec)
	require.PanicsWithValue(t, "a", func() { l.When("x") })
	require.PanicsWithValue(t, "a", func() { l.Forget("x") })
	require.PanicsWithValue(t, "a", func() { l.NumRequeues("x") })
}

func TestC17H17BucketAndManagerSurviveAPanickingClock(t *testing.T) {
	source := &callback{Fake: clock.NewFake(start)}
	o := Options{Clock: source, ForgetAfter: time.Hour}
	bucket := NewBucket[string](rate.NewLimiter(1, 1), o)
	manager := NewManager(Backoff{Duration: sec, Factor: 2, Steps: 9}, o)
	requireDelays(t, bucket, "x", 0)
	requireManagerSteps(t, manager, sec)
	source.call = func() { panic("clock") }
	require.PanicsWithValue(t, "clock", func() { bucket.When("x") })
	require.PanicsWithValue(t, "clock", func() { manager.Step() })
	source.call = nil
	requireDelays(t, bucket, "x", sec)
	requireManagerSteps(t, manager, 2*sec)
}

func TestC17ManagerCallsUserCodeWithNoLockHeld(t *testing.T) {
	var m *Manager
	calls := 0
	check := func() {
		if m == nil {
			return
		}
		calls++
		require.True(t, m.mu.TryLock())
		m.mu.Unlock()
	}
	m = NewManager(Backoff{Duration: sec, Jitter: 1}, Options{
		Clock:       &callback{Fake: clock.NewFake(start), call: check},
		Random:      func() float64 { check(); return 0 },
		ForgetAfter: sec,
	})
	m.Step()
	require.Equal(t, 2, calls)
}
