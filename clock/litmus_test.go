package clock

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardq/shardq/internal/litmus"
)

// What the comments of this package say of races, and the test that tries it:
//
//	clock.go  Stop prevents the call, or reports that it came    TestLitmusStopAgainstStep
//	clock.go  Reset likewise, and makes it come anew             TestLitmusResetAgainstStep
//	clock.go  AfterFunc calls f once                             TestLitmusStepAgainstStep
//	fake.go   Step calls what is due, whoever arranged it        TestLitmusAfterFuncAgainstStep

// A call is what a timer is to do: it counts.
type call struct{ calls atomic.Int32 }

func (c *call) make() { c.calls.Add(1) }

// A race is a fake clock with which two calls meet.
type race struct {
	clock *Fake
	timer Timer
	call  *call
}

// begin makes the clock anew, with a timer for the times given.
func (r *race) begin(times ...time.Duration) {
	r.clock, r.call = NewFake(time.Unix(0, 0)), &call{}
	for _, d := range times {
		r.timer = r.clock.AfterFunc(d, r.call.make)
	}
}

func (r *race) lock() *sync.Mutex { return &r.clock.mu }

func (r *race) step() { r.clock.Step(time.Second) }

// state says what was called, and what is still to come.
func (r *race) state() string {
	return fmt.Sprintf("%d calls, %d timers", r.call.calls.Load(), r.clock.Timers())
}

// TestLitmusStopAgainstStep: either Stop says that it prevented the call, or it came.
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

// TestLitmusResetAgainstStep: either Reset says that the call was to come, and it comes
// once, or it had come and comes again.
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

// TestLitmusStepAgainstStep: of two who step the clock, one makes the call; and the clock
// goes by both steps.
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

// TestLitmusAfterFuncAgainstStep: what is arranged while the clock steps is called by
// that Step, or is still to come at its time on the clock.
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
