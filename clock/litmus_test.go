package clock

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardq/shardq/internal/litmus"
)

// The races that the comments of this package describe, and their tests:
//
//	clock.go  Stop prevents the call, or reports false        TestLitmusStopAgainstStep
//	clock.go  Reset likewise, and schedules the call again    TestLitmusResetAgainstStep
//	clock.go  AfterFunc calls f once                          TestLitmusStepAgainstStep
//	fake.go   Step makes all calls that are due               TestLitmusAfterFuncAgainstStep

// A call counts how often a timer calls it.
type call struct{ calls atomic.Int32 }

func (c *call) make() { c.calls.Add(1) }

// A race is a fake clock that two goroutines use concurrently.
type race struct {
	clock *Fake
	timer Timer
	call  *call
}

// begin makes a new clock, with a timer for each of the times.
func (r *race) begin(times ...time.Duration) {
	r.clock, r.call = NewFake(time.Unix(0, 0)), &call{}
	for _, d := range times {
		r.timer = r.clock.AfterFunc(d, r.call.make)
	}
}

func (r *race) lock() *sync.Mutex { return &r.clock.mu }

func (r *race) step() { r.clock.Step(time.Second) }

// state describes the calls that were made and those that are pending.
func (r *race) state() string {
	return fmt.Sprintf("%d calls, %d timers", r.call.calls.Load(), r.clock.Timers())
}

// TestLitmusStopAgainstStep: either Stop reports that it prevented the call, or
// the call was made.
func TestLitmusStopAgainstStep(t *testing.T) {
	var r race
	var stopped bool
	litmus.Pair{
		Rounds: 20_000,
		Lock:   r.lock,
		Begin:  func() { r.begin(time.Second) },
		One:    r.step,
		Other:  func() { stopped = r.timer.Stop() },
		Outcome: func() string {
			r.clock.Step(time.Hour)
			return fmt.Sprintf("stopped %v, %s", stopped, r.state())
		},
		Outcomes: []string{"stopped true, 0 calls, 0 timers", "stopped false, 1 calls, 0 timers"},
	}.Run(t)
}

// TestLitmusResetAgainstStep: either Reset reports that the call was pending,
// and it is made once, or the call was made and is made again.
func TestLitmusResetAgainstStep(t *testing.T) {
	var r race
	var was bool
	litmus.Pair{
		Rounds: 20_000,
		Lock:   r.lock,
		Begin:  func() { r.begin(time.Second) },
		One:    r.step,
		Other:  func() { was = r.timer.Reset(time.Minute) },
		Outcome: func() string {
			before := r.state()
			r.clock.Step(time.Hour)
			return fmt.Sprintf("to come %v, %s, %s", was, before, r.state())
		},
		Outcomes: []string{
			"to come true, 0 calls, 1 timers, 1 calls, 0 timers",
			"to come false, 1 calls, 1 timers, 2 calls, 0 timers",
		},
	}.Run(t)
}

// TestLitmusStepAgainstStep: of two concurrent Steps, one makes the call. The
// clock moves by both.
func TestLitmusStepAgainstStep(t *testing.T) {
	var r race
	litmus.Pair{
		Rounds: 20_000,
		Lock:   r.lock,
		Begin:  func() { r.begin(time.Second, 2*time.Second) },
		One:    r.step,
		Other:  r.step,
		Outcome: func() string {
			return fmt.Sprintf("%s, at %v", r.state(), r.clock.Now().Sub(time.Unix(0, 0)))
		},
		Outcomes: []string{"2 calls, 0 timers, at 2s"},
	}.Run(t)
}

// TestLitmusAfterFuncAgainstStep: a call that is scheduled during a Step is
// made by that Step, or stays pending at its time.
func TestLitmusAfterFuncAgainstStep(t *testing.T) {
	var r race
	litmus.Pair{
		Rounds: 20_000,
		Lock:   r.lock,
		Begin:  func() { r.begin() },
		One:    r.step,
		Other:  func() { r.clock.AfterFunc(time.Second, r.call.make) },
		Outcome: func() string {
			before := r.state()
			r.step()
			return before + ", " + r.state()
		},
		Outcomes: []string{
			"1 calls, 0 timers, 1 calls, 0 timers",
			"0 calls, 1 timers, 1 calls, 0 timers",
		},
	}.Run(t)
}
