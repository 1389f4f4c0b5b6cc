package shard

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardq/shardq/clock"
)

// An hourglass is a set with a clock.
type hourglass struct {
	*Set[int]
	clock *clock.Fake
	// counted has the counters at the start of the round.
	counted Stats
}

// lastingHourglass returns the world of all rounds. If dawdles is true, its
// clock is a dawdlingClock.
func lastingHourglass(t tester, config Config[int], dawdles bool, begin func(h *hourglass)) func(round int) *hourglass {
	var h *hourglass
	return func(int) *hourglass {
		if h == nil {
			h = &hourglass{clock: clock.NewFake(start)}
			config.Clock = h.clock
			if dawdles {
				config.Clock = &dawdlingClock{Fake: h.clock}
			}
			h.Set = newTestSet(t, config)
		}
		h.counted = h.Core.Stats()
		if begin != nil {
			begin(h)
		}
		return h
	}
}

// A dawdlingClock takes its time before and after each call: clocks are user
// code, and goroutines lose their processors.
type dawdlingClock struct {
	*clock.Fake
	calls atomic.Uint32
}

func (c *dawdlingClock) dawdle() { hesitate(c.calls.Add(1)) }

func (c *dawdlingClock) Now() time.Time {
	c.dawdle()
	defer c.dawdle()
	return c.Fake.Now()
}

func (c *dawdlingClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	c.dawdle()
	defer c.dawdle()
	return &dawdlingTimer{c, c.Fake.AfterFunc(d, f)}
}

type dawdlingTimer struct {
	clock *dawdlingClock
	timer clock.Timer
}

func (t *dawdlingTimer) Stop() bool {
	t.clock.dawdle()
	defer t.clock.dawdle()
	return t.timer.Stop()
}

func (t *dawdlingTimer) Reset(d time.Duration) bool {
	t.clock.dawdle()
	defer t.clock.dawdle()
	return t.timer.Reset(d)
}

// unwatched returns what is wrong with the timer, if anything is.
func (h *hourglass) unwatched() string {
	first := h.Core.driver.earliest()
	left := h.Core.time.Until(first)
	next, set := h.clock.Next()
	switch {
	case first == never:
		return ""
	case left == 0:
		return "an item is overdue"
	case !set:
		return "no timer is set"
	case next > left:
		return fmt.Sprintf("the timer is set %v too late", next-left)
	case h.Core.driver.armed.Load() > first:
		return "armed is later than a deadline"
	case h.Core.driver.ownership.Load() != timerIdle:
		return "the driver did not finish"
	}
	return ""
}

// state returns what is ready and what is delayed, or what is wrong.
func (h *hourglass) state() string {
	if fault := h.unwatched(); fault != "" {
		return fault
	}
	st := h.Core.Stats()
	return fmt.Sprintf("%d ready, %d delayed", st.Ready, st.Delayed)
}

func (h *hourglass) outcome(int) string { return h.state() }

// pass lets all delays expire, and ends the processing of their items.
func (h *hourglass) pass() {
	h.clock.Step(24 * time.Hour)
	finish(h.Set)
}

// TestLitmusDriverRests: an AddAfter meets the driver when it is about to give
// the timer up. Either the driver sees the deadline, or the AddAfter sets the
// timer. In some cases the timer's function runs for another item, or no timer
// is set, or the deadline passes while the timer is set for it.
func TestLitmusDriverRests(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct{ filed, d time.Duration }{{ms, ms}, {ms, 3 * ms}, {time.Hour, 2 * ms}, {0, ms}, {0, 3 * ms}} {
		t.Run(fmt.Sprintf("filed=%v/%v", test.filed, test.d), func(t *testing.T) { litmusDriverRests(t, test.filed, test.d) })
	}
}

func litmusDriverRests(t *testing.T, filed, d time.Duration) {
	const step = 2 * time.Millisecond
	// The fate of the other item, and of this one if it comes before the Step.
	ready, waiting, due := 0, 0, 0
	switch {
	case filed > step:
		waiting = 1
	case filed > 0:
		ready = 1
	}
	if d <= step {
		due = 1
	}
	litmus[*hourglass]{
		rounds: 50_000,
		world: lastingHourglass(t, Config[int]{Settings: Settings{Shards: 2}, Route: parity}, true, func(h *hourglass) {
			if filed > 0 {
				h.AddAfter(1, filed)
			}
		}),
		actors: []func(h *hourglass){
			func(h *hourglass) { h.clock.Step(step) },
			func(h *hourglass) { h.AddAfter(2, d) },
		},
		outcome: (*hourglass).outcome,
		after:   (*hourglass).pass,
		outcomes: verdicts{
			fmt.Sprintf("%d ready, %d delayed", ready+due, waiting+1-due): certain,
			fmt.Sprintf("%d ready, %d delayed", ready, waiting+1):         certain,
			"an item is overdue": forbidden,
			"no timer is set":    forbidden,
		},
	}.run(t)
}

// TestLitmusDriverReads: the timer for an earlier tick has fired, and the
// driver reads so many shards that it takes long. Meanwhile a deadline is filed
// in the first of them.
func TestLitmusDriverReads(t *testing.T) {
	round := uint32(0)
	litmus[*hourglass]{
		rounds: 50_000,
		world: lastingHourglass(t, Config[int]{Settings: Settings{Shards: MaxShards}, Route: parity}, false, func(h *hourglass) {
			h.Core.driver.armed.Store(1)
			round++
		}),
		actors: []func(h *hourglass){
			func(h *hourglass) { h.Core.driver.poke() },
			func(h *hourglass) {
				for range scatter(round) % (4 * MaxShards) { // while the driver goes on
					loop()
				}
				h.AddAfter(2, 3*time.Millisecond)
			},
		},
		outcome: func(h *hourglass, _ int) string { return h.unwatched() },
		after:   (*hourglass).pass,
		outcomes: verdicts{
			"": certain,
		},
	}.run(t)
}

// TestLitmusSetBackUnderTheDriver: the clock has gone beyond the other item's
// deadline, and is set back while the driver expires that. An item that is
// delayed by what the clock shows now does not become ready by what the driver
// read before (C19).
func TestLitmusSetBackUnderTheDriver(t *testing.T) {
	const step = 2 * time.Hour
	var from, to time.Time // what the clock says before the round, and when it has been set back
	begin := func(h *hourglass) {
		from = h.clock.Now()
		h.AddAfter(2, time.Minute)
	}
	litmus[*hourglass]{
		rounds: 50_000,
		world:  lastingHourglass(t, Config[int]{}, true, begin),
		actors: []func(h *hourglass){
			func(h *hourglass) { h.clock.Step(step) },
			func(h *hourglass) {
				h.clock.Step(-step)
				to = h.clock.Now()
				h.AddAfter(1, step/2)
			},
		},
		outcome: func(h *hourglass, _ int) string {
			checkSet(t, h.Set)
			state := "delayed"
			if slices.Contains(allReady(t, h.Set), 1) {
				state = "is ready"
			}
			if to.Before(from) {
				return state + " after the clock was set back and went on"
			}
			return state + " after the clock went on and was set back"
		},
		after: (*hourglass).pass,
		outcomes: verdicts{
			"delayed after the clock went on and was set back":  certain,
			"is ready after the clock went on and was set back": forbidden,
			"is ready after the clock was set back and went on": certain,
			"delayed after the clock was set back and went on":  allowed, // it came after that
		},
	}.run(t)
}
