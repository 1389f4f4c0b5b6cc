package limiter

import (
	"context"
	"time"

	"github.com/shardq/shardq/clock"
)

// Counting selects the point from which [Loop] measures a delay.
type Counting int

const (
	// FromEnd measures from the end of a run, so that a delay passes between
	// two runs. Package wait calls this sliding.
	FromEnd Counting = iota
	// FromStart measures from the start of a run, so that the delay separates
	// the starts of two runs. If a run takes longer than its delay, the next
	// one follows immediately, and missed runs are not made up. If the clock is
	// set back during a run, the run counts as taking no time.
	FromStart
)

// Loop calls run on this goroutine until ctx ends. Between two runs it waits
// for a delay of the manager, by the manager's clock. If ctx ends during a
// wait, Loop returns at once. Loop does not interrupt a run, so run must watch
// ctx itself.
//
// Loop does not know which runs succeed. Let run call [Manager.Reset] when it
// succeeds, or give the manager a quiet period.
//
// A panic of run passes through Loop. Loop starts no goroutine, and has a timer
// only while it waits.
//
// If ctx has ended already, Loop does not call run. A delay of 0 means no
// pause.
func Loop(ctx context.Context, manager *Manager, counting Counting, run func(context.Context)) {
	pause := newPause(manager.options.Clock)
	defer pause.stop()
	for ctx.Err() == nil {
		started := pause.clock.Now()
		run(ctx)
		delay := manager.Step()
		if counting == FromStart {
			// Without the bound, a clock that is set back would lengthen the
			// delay.
			delay -= max(pause.clock.Now().Sub(started), 0)
		}
		pause.wait(ctx, delay)
	}
}

// A pause is a timer that one goroutine waits for repeatedly.
type pause struct {
	clock clock.Clock
	timer clock.Timer   // nil before the first wait
	over  chan struct{} // one signal of the timer's call
}

func newPause(c clock.Clock) *pause {
	return &pause{clock: c, over: make(chan struct{}, 1)}
}

// wait returns when d has passed or ctx has ended. After ctx has ended, the
// caller may only call stop.
func (p *pause) wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	if p.timer == nil {
		p.timer = p.clock.AfterFunc(d, func() { p.over <- struct{}{} })
	} else {
		p.timer.Reset(d)
	}
	select {
	case <-p.over:
	case <-ctx.Done():
	}
}

func (p *pause) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}
