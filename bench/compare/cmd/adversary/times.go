package main

import (
	"runtime"
	"sync/atomic"
	"time"

	k8sclock "k8s.io/utils/clock"
	k8stesting "k8s.io/utils/clock/testing"

	"github.com/shardq/shardq/clock"
)

// timeSource is a clock in the two forms that queues accept. The zero
// timeSource is the real time.
type timeSource struct {
	ours   clock.Clock
	theirs k8sclock.WithTicker
}

// standing is a time that stands still until it is stepped.
type standing struct {
	ours   *turnClock
	theirs *k8stesting.FakeClock
}

func newStanding() *standing {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return &standing{ours: &turnClock{Fake: clock.NewFake(start)}, theirs: k8stesting.NewFakeClock(start)}
}

func (s *standing) source() timeSource { return timeSource{ours: s.ours, theirs: s.theirs} }

// step advances the time at once. When it returns, shardq has made all expired
// items ready.
func (s *standing) step(d time.Duration) {
	s.theirs.Step(d)
	s.ours.Step(d)
}

// A turnClock measures the turns of shardq's driver, which visits the shards
// while it makes due items ready. The driver reads the clock before each turn.
// In a turn it holds the lock of each shard once. It runs where the clock is
// stepped.
type turnClock struct {
	*clock.Fake
	// thread is the thread whose turns are measured, or none: 0 or less.
	thread atomic.Int64
	watch  stopwatch
	turns  *latencies
}

// note calls f, which steps the clock, and returns the times of the driver's
// turns in it, in processor time.
func (c *turnClock) note(f func()) *latencies {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c.turns, c.watch = new(latencies), startThreadWatch()
	c.thread.Store(int64(thread()))
	defer c.thread.Store(-1)
	f()
	return c.turns
}

// Now is called by others, too.
func (c *turnClock) Now() time.Time {
	if noting := c.thread.Load(); noting > 0 && noting == int64(thread()) {
		c.turns.add(c.watch.lap())
	}
	return c.Fake.Now()
}

// counted returns the real time, and counts how often a queue reads it or is
// called by its timer: no queue wakes up and does neither.
func counted(wakes *atomic.Int64) timeSource {
	return timeSource{
		ours:   countedClock{clock.Real(), wakes},
		theirs: countedTicker{k8sclock.RealClock{}, wakes},
	}
}

type countedClock struct {
	clock.Clock
	wakes *atomic.Int64
}

func (c countedClock) Now() time.Time {
	c.wakes.Add(1)
	return c.Clock.Now()
}

func (c countedClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	return c.Clock.AfterFunc(d, func() {
		c.wakes.Add(1)
		f()
	})
}

type countedTicker struct {
	k8sclock.RealClock
	wakes *atomic.Int64
}

func (c countedTicker) Now() time.Time {
	c.wakes.Add(1)
	return c.RealClock.Now()
}
