package limiter

import (
	"context"
	"time"

	"github.com/shardq/shardq/clock"
)

// Counting says from where [Loop] counts a delay.
type Counting int

const (
	// FromEnd counts from the end of a run: a delay passes between two runs.
	// Package wait calls this sliding.
	FromEnd Counting = iota
	// FromStart counts from the start of a run: the delay is the distance
	// between the starts of two runs. If a run takes longer than its delay, the
	// next one follows at once; what it missed is not made up for. If the clock was
	// set back during a run, that counts as no time.
	FromStart
)

// Loop calls run, on this goroutine, until the context ends, and lets a delay of
// the manager pass between one run and the next. It returns as soon as the
// context has ended and no run is going on: it does not interrupt a run, so run
// has to watch the context itself. If the context has ended already, run is not
// called.
//
// Loop cannot know which runs were successful. Have run call [Manager.Reset]
// when it succeeds, or give the manager a quiet period.
//
// Time is the manager's clock. A delay of 0 means no pause at all. A panic of
// run passes through Loop; nothing is left behind then either: Loop starts no
// goroutine, and has a timer only while it waits.
func Loop(ctx context.Context, manager *Manager, counting Counting, run func(context.Context)) {
	pause := newPause(manager.options.Clock)
	defer pause.stop()
	for ctx.Err() == nil {
		started := pause.clock.Now()
		run(ctx)
		delay := manager.Step()
		if counting == FromStart {
			delay -= max(pause.clock.Now().Sub(started), 0) // or a clock that is set back lengthens it
		}
		pause.wait(ctx, delay)
	}
}

// A pause is a timer that is waited for again and again, by one goroutine.
type pause struct {
	clock clock.Clock
	timer clock.Timer   // nil before the first wait
	over  chan struct{} // holds a signal from the timer's call until it is taken
}

func newPause(c clock.Clock) *pause {
	return &pause{clock: c, over: make(chan struct{}, 1)}
}

// wait returns when d has passed or the context has ended. In the latter case
// the pause may only be stopped.
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
