package limiter

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runs runs a Loop whose runs take the given times, in a bubble with the real
// clock. It returns the start of each run. The context ends in the last run.
func runs(t *testing.T, b Backoff, counting Counting, takes ...time.Duration) (starts []time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		Loop(ctx, NewManager(b), counting, func(context.Context) {
			starts = append(starts, time.Since(began))
			time.Sleep(takes[len(starts)-1])
			if len(starts) == len(takes) {
				cancel()
			}
		})
		require.ErrorIs(t, ctx.Err(), context.Canceled)
	})
	return starts
}

func TestC32LoopFromEnd(t *testing.T) {
	b := Backoff{Duration: sec, Factor: 2, Steps: 9, Cap: 4 * sec}
	require.Equal(t, []time.Duration{0, 1 * sec, 13 * sec, 17 * sec, 24 * sec},
		runs(t, b, FromEnd, 0, 10*sec, 0, 3*sec, 0))
}

func TestC32LoopFromStart(t *testing.T) {
	b := Backoff{Duration: sec, Factor: 2, Steps: 9, Cap: 4 * sec}
	// The second run takes longer than its delay of 2 s, so the third follows
	// at once.
	require.Equal(t, []time.Duration{0, 1 * sec, 11 * sec, 15 * sec, 19 * sec},
		runs(t, b, FromStart, 0, 10*sec, 0, 3*sec, 0))
}

func TestC32LoopWithoutDelay(t *testing.T) {
	require.Equal(t, []time.Duration{0, 0, 0}, runs(t, Backoff{}, FromEnd, 0, 0, 0))
}

func TestC32LoopDoesNotRunAfterTheContextEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	Loop(ctx, NewManager(Backoff{}), FromEnd, func(context.Context) { t.Error("ran") })
}

func TestC32LoopEndsWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*sec)
		defer cancel()
		began := time.Now()
		count := 0
		Loop(ctx, NewManager(Backoff{Duration: time.Minute}), FromEnd, func(context.Context) { count++ })
		require.Equal(t, 90*sec, time.Since(began))
		require.Equal(t, 2, count)
	})
}

func TestC32LoopDoesNotRunWhenDelayAndContextEndTogether(t *testing.T) {
	for range 50 { // the select of Loop chooses at random
		fake := clock.NewFake(start)
		ctx, cancel := context.WithCancel(t.Context())
		fake.AfterFunc(sec, cancel) // scheduled first, so called first
		count := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			m := NewManager(Backoff{Duration: sec}, Options{Clock: fake})
			Loop(ctx, m, FromEnd, func(context.Context) { count++ })
		}()
		for fake.Timers() < 2 {
			runtime.Gosched()
		}
		fake.Step(sec)
		<-done
		require.Equal(t, 1, count)
	}
}

func TestC32LoopStartsOverAfterAReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m := NewManager(Backoff{Duration: sec, Factor: 2, Steps: 9})
		began := time.Now()
		var starts []time.Duration
		Loop(ctx, m, FromEnd, func(context.Context) {
			starts = append(starts, time.Since(began))
			switch len(starts) {
			case 3:
				m.Reset()
			case 5:
				cancel()
			}
		})
		require.Equal(t, []time.Duration{0, 1 * sec, 3 * sec, 4 * sec, 6 * sec}, starts)
	})
}

func TestC32LoopStartsOverAfterAQuietPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m := NewManager(Backoff{Duration: sec, Factor: 2, Steps: 9}, Options{ForgetAfter: time.Minute})
		began := time.Now()
		var starts []time.Duration
		Loop(ctx, m, FromEnd, func(context.Context) {
			starts = append(starts, time.Since(began))
			switch len(starts) {
			case 4:
				time.Sleep(time.Minute) // a long successful run
			case 6:
				cancel()
			}
		})
		require.Equal(t, []time.Duration{0, 1 * sec, 3 * sec, 7 * sec, 68 * sec, 70 * sec}, starts)
	})
}

func TestC32C17LoopPassesAPanicThrough(t *testing.T) {
	fake := clock.NewFake(start)
	m := NewManager(Backoff{Duration: sec, Factor: 2, Steps: 9}, Options{Clock: fake})
	count := 0
	first := make(chan struct{})
	done := make(chan any)
	go func() {
		defer func() { done <- recover() }()
		Loop(context.Background(), m, FromEnd, func(context.Context) {
			count++
			if count == 2 {
				panic("second run")
			}
			close(first)
		})
	}()
	<-first
	waitForTimer(fake)
	fake.Step(sec)
	require.Equal(t, "second run", <-done)
	require.Zero(t, fake.Timers())
	requireManagerSteps(t, m, 2*sec) // the Manager remains usable
}

func TestC32LoopLeavesNoTimerBehind(t *testing.T) {
	fake := clock.NewFake(start)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		Loop(ctx, NewManager(Backoff{Duration: sec}, Options{Clock: fake}), FromEnd, func(context.Context) {})
	}()
	waitForTimer(fake)
	cancel()
	<-done
	require.Zero(t, fake.Timers())
}

func TestC32LoopLetsGoexitThrough(t *testing.T) {
	fake := clock.NewFake(start)
	done := make(chan struct{})
	go func() {
		defer close(done)
		Loop(context.Background(), NewManager(Backoff{Duration: sec}, Options{Clock: fake}), FromStart,
			func(context.Context) { runtime.Goexit() })
	}()
	<-done
	require.Zero(t, fake.Timers())
}

// TestC32LoopFromStartWhenTheClockIsSetBack: if the clock is set back during a
// run, no pause is longer than the delay. An overflow of the difference does
// not make Loop spin: it waits for its timer.
func TestC32LoopFromStartWhenTheClockIsSetBack(t *testing.T) {
	for _, delay := range []time.Duration{10 * sec, forever} {
		t.Run(delay.String(), func(t *testing.T) {
			fake := clock.NewFake(start)
			ctx, cancel := context.WithCancel(t.Context())
			runs := 0
			done := make(chan struct{})
			go func() {
				defer close(done)
				m := NewManager(Backoff{Duration: delay}, Options{Clock: fake})
				Loop(ctx, m, FromStart, func(context.Context) {
					if runs++; runs > 1 {
						cancel() // it did not wait
					}
					fake.Step(-time.Hour)
				})
			}()
			for fake.Timers() == 0 && ctx.Err() == nil {
				runtime.Gosched()
			}
			left, waits := fake.Next()
			require.True(t, waits, "the loop spins")
			require.Equal(t, delay, left)
			cancel()
			<-done
			require.Equal(t, 1, runs)
		})
	}
}

// waitForTimer returns when the clock has a timer.
func waitForTimer(fake *clock.Fake) {
	for fake.Timers() == 0 {
		runtime.Gosched()
	}
}
