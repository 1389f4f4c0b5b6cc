package limiter

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/clock"
)

func TestC32ManagerStartsOverAfterAQuietPeriod(t *testing.T) {
	o, fake := expiring(sec)
	m := NewManager(Backoff{Duration: 8 * sec, Factor: 0.5}, o)
	for _, c := range []struct{ wait, want time.Duration }{
		{0, 8 * sec}, {0, 4 * sec}, {9*sec - 1, 2 * sec}, // the first delay is the longest
		{3 * sec, 8 * sec}, {-time.Hour, 4 * sec},
	} {
		fake.Step(c.wait)
		require.Equal(t, c.want, m.Step())
	}
	m.Reset()
	require.Equal(t, 8*sec, m.Step())
}

func TestC32ManagerIsSafeForConcurrentUse(t *testing.T) {
	m := NewManager(Backoff{Duration: 1, Factor: 2})
	delays := make(chan time.Duration, 40)
	for range cap(delays) {
		go func() { delays <- m.Step() }()
	}
	distinct := map[time.Duration]bool{}
	for range cap(delays) {
		distinct[<-delays] = true
	}
	require.Len(t, distinct, cap(delays), "two callers got the same step")
}

// runs runs a Loop whose runs take the given times, in a bubble with the real
// clock. It returns the start of each run. The context ends in the last run.
func runs(t *testing.T, m *Manager, counting Counting, takes ...time.Duration) (starts []time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		Loop(ctx, m, counting, func(context.Context) {
			starts = append(starts, time.Since(began))
			time.Sleep(takes[len(starts)-1])
			if len(starts) == len(takes) {
				cancel()
			}
		})
	})
	return starts
}

var recipe = Backoff{Duration: sec, Factor: 2, Steps: 9, Cap: 4 * sec}

func TestC32LoopFromEnd(t *testing.T) {
	require.Equal(t, []time.Duration{0, 1 * sec, 13 * sec, 17 * sec, 24 * sec},
		runs(t, NewManager(recipe), FromEnd, 0, 10*sec, 0, 3*sec, 0))
	require.Equal(t, []time.Duration{0, 0, 0}, runs(t, NewManager(Backoff{}), FromEnd, 0, 0, 0))
}

func TestC32LoopFromStart(t *testing.T) {
	// The second run takes longer than its delay of 2 s, so the third follows
	// at once.
	require.Equal(t, []time.Duration{0, 1 * sec, 11 * sec, 15 * sec, 19 * sec},
		runs(t, NewManager(recipe), FromStart, 0, 10*sec, 0, 3*sec, 0))
}

func TestC32LoopEndsWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*sec)
		defer cancel()
		began, count := time.Now(), 0
		Loop(ctx, NewManager(Backoff{Duration: time.Minute}), FromEnd, func(context.Context) { count++ })
		require.Equal(t, 90*sec, time.Since(began))
		require.Equal(t, 2, count)
		Loop(ctx, NewManager(Backoff{}), FromEnd, func(context.Context) { t.Error("ran after the context ended") })
	})
}

// looping starts a Loop and waits until it has a timer. The returned channel
// yields what its last run panics with.
func looping(ctx context.Context, fake *clock.Fake, delay time.Duration, counting Counting, run func()) <-chan any {
	done := make(chan any)
	go func() {
		defer func() { done <- recover() }()
		m := NewManager(Backoff{Duration: delay}, Options{Clock: fake})
		Loop(ctx, m, counting, func(context.Context) { run() })
	}()
	for fake.Timers() == 0 {
		runtime.Gosched()
	}
	return done
}

// TestC32LoopDoesNotRunWhenDelayAndContextEndTogether: and it leaves no timer.
func TestC32LoopDoesNotRunWhenDelayAndContextEndTogether(t *testing.T) {
	for range 200 { // the select of Loop chooses at random
		fake, count := clock.NewFake(start), 0
		ctx, cancel := context.WithCancel(t.Context())
		done := looping(ctx, fake, sec, FromEnd, func() { count++ })
		fake.AfterFunc(sec-1, cancel) // called first, by the same Step
		fake.Step(sec)
		<-done
		require.Equal(t, 1, count)
		require.Zero(t, fake.Timers())
	}
}

func TestC32C17LoopPassesAPanicThrough(t *testing.T) {
	fake, count := clock.NewFake(start), 0
	done := looping(t.Context(), fake, sec, FromEnd, func() {
		if count++; count == 2 {
			panic("second run")
		}
	})
	fake.Step(sec)
	require.Equal(t, "second run", <-done)
	require.Zero(t, fake.Timers())
}

// TestC32LoopFromStartWhenTheClockIsSetBack: if the clock is set back during a
// run, no pause is longer than the delay.
func TestC32LoopFromStartWhenTheClockIsSetBack(t *testing.T) {
	for _, delay := range []time.Duration{10 * sec, forever} {
		fake := clock.NewFake(start)
		ctx, cancel := context.WithCancel(t.Context())
		done := looping(ctx, fake, delay, FromStart, func() { fake.Step(-time.Hour) })
		left, _ := fake.Next()
		require.Equal(t, delay, left)
		cancel()
		<-done
		require.Zero(t, fake.Timers())
	}
}
