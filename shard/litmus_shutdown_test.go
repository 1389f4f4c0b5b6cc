package shard

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardq/shardq/clock"
)

// A closingDay is a set that is shut down while others use it.
type closingDay struct {
	*Set[int]
	clock  *clock.Fake
	gotten int
	// began and returned are set by a drain, and finished by the last Done.
	began, returned, finished atomic.Bool
	early                     bool
}

func newClosingDay(t tester, shards int) *closingDay {
	fake := clock.NewFake(start)
	return &closingDay{Set: newTestSet(t, Config[int]{Settings: Settings{Shards: shards, Clock: fake}, Route: parity}), clock: fake}
}

// holding returns a world in which items are in processing. Every other has one
// shard.
func holding(t tester, items ...int) func(round int) *closingDay {
	return func(round int) *closingDay {
		d := newClosingDay(t, 1+round%2)
		for _, item := range items {
			d.Add(item)
		}
		for range items {
			d.TryTake()
		}
		return d
	}
}

// work gets items until the queue is shut down.
func (d *closingDay) work() {
	for item, shutdown := d.Get(); !shutdown; item, shutdown = d.Get() {
		d.Done(item)
		d.gotten++
	}
}

// drain drains, and checks whether all was done by then.
func (d *closingDay) drain() {
	d.Core.ShutDownWithDrain()
	d.early = !d.finished.Load()
	d.returned.Store(true)
}

// told describes a drain.
func (d *closingDay) told() string {
	switch {
	case !d.returned.Load():
		return "the drain waits"
	case d.early:
		return "the drain returned early"
	}
	return "the drain returned"
}

// TestLitmusAddAgainstShutDown: an Add that is not dropped finishes before the
// last consumer leaves (C2, C10).
func TestLitmusAddAgainstShutDown(t *testing.T) {
	litmus[*closingDay]{
		rounds: 50_000,
		world:  holding(t),
		actors: []func(d *closingDay){
			func(d *closingDay) { d.Core.ShutDown() },
			(*closingDay).work,
			func(d *closingDay) { d.Add(1); d.Add(2); d.Add(3) },
		},
		outcome: func(d *closingDay, asleep int) string {
			st := d.Core.Stats()
			return fmt.Sprintf("%d landed, %d dropped, %d gotten, %d blocked", st.Added, st.Dropped, d.gotten, asleep)
		},
		after: func(d *closingDay) { rouse(d.Set) },
		outcomes: verdicts{
			"0 landed, 3 dropped, 0 gotten, 0 blocked": certain,
			"1 landed, 2 dropped, 1 gotten, 0 blocked": allowed,
			"2 landed, 1 dropped, 2 gotten, 0 blocked": allowed,
			"3 landed, 0 dropped, 3 gotten, 0 blocked": certain,
			"1 landed, 2 dropped, 0 gotten, 0 blocked": forbidden, // left behind
		},
	}.run(t)
}

// TestLitmusAddAgainstDrain: a drain waits for every Add that it did not drop
// (C12). There is no consumer, so an item that was added stays, and the drain
// must stay too.
func TestLitmusAddAgainstDrain(t *testing.T) {
	adds := map[string]func(d *closingDay){
		"Add":      func(d *closingDay) { d.Add(1) },
		"AddAfter": func(d *closingDay) { d.AddAfter(1, 0) },
		"a delay that ends": func(d *closingDay) {
			d.AddAfter(1, time.Millisecond)
			d.clock.Step(time.Millisecond)
		},
	}
	for name, add := range adds {
		t.Run(name, func(t *testing.T) {
			litmus[*closingDay]{
				rounds: 50_000,
				world:  holding(t),
				actors: []func(d *closingDay){
					add,
					(*closingDay).drain,
				},
				outcome: func(d *closingDay, _ int) string {
					if d.returned.Load() {
						return fmt.Sprintf("the drain returned, %d are ready, %d wait", d.Core.Len(), d.Core.Stats().Delayed)
					}
					return fmt.Sprintf("the drain waits, %d are ready", d.Core.Len())
				},
				after: func(d *closingDay) { finish(d.Set); d.Core.ShutDown() },
				outcomes: verdicts{
					"the drain waits, 1 are ready":            certain, // it was added
					"the drain returned, 0 are ready, 0 wait": certain, // it was dropped
					"the drain returned, 1 are ready, 0 wait": forbidden,
					"the drain waits, 0 are ready":            forbidden,
				},
			}.run(t)
		})
	}
}

// TestLitmusDrain: a drain ends, and not before the last Done, while consumers
// finish in the two shards that it inspects (C12).
func TestLitmusDrain(t *testing.T) {
	litmus[*closingDay]{
		rounds: 50_000,
		world:  holding(t, 0, 1, 3),
		actors: []func(d *closingDay){
			func(d *closingDay) { d.Done(1); d.Done(0); d.finished.Store(true); d.Done(3) },
			(*closingDay).drain,
		},
		outcome: func(d *closingDay, _ int) string { return d.told() },
		after:   func(d *closingDay) { d.Core.ShutDown() },
		outcomes: verdicts{
			"the drain returned":       certain,
			"the drain returned early": forbidden,
			"the drain waits":          forbidden,
		},
	}.run(t)
}

// TestLitmusShutDownAgainstDrain: of ShutDowns that meet a drain, each ends the
// drain's wait, if it was under way (C12).
func TestLitmusShutDownAgainstDrain(t *testing.T) {
	litmus[*closingDay]{
		rounds: 50_000,
		world:  holding(t, 1), // and no Done
		actors: []func(d *closingDay){
			func(d *closingDay) {
				d.began.Store(d.Core.ShuttingDown()) // only the drain can have caused that
				d.Core.ShutDown()
			},
			(*closingDay).drain,
		},
		outcome: func(d *closingDay, _ int) string {
			if !d.returned.Load() && !d.began.Load() {
				return "the drain came later, and waits"
			}
			return d.told()
		},
		after: func(d *closingDay) { d.Core.ShutDown() },
		outcomes: verdicts{
			"the drain returned early":        certain, // its wait was ended
			"the drain came later, and waits": certain,
			"the drain waits":                 forbidden,
		},
	}.run(t)
}

// TestLitmusNothingRunsAfterShutDown: when ShutDown returns, no goroutine owns
// the timer, although ShutDown met the timer's function and an AddAfter (C14).
func TestLitmusNothingRunsAfterShutDown(t *testing.T) {
	litmus[*closingDay]{
		rounds: 50_000,
		world: func(int) *closingDay {
			d := newClosingDay(t, 2)
			d.AddAfter(1, time.Millisecond)
			return d
		},
		actors: []func(d *closingDay){
			func(d *closingDay) {
				d.Core.ShutDown()
				d.early = d.Core.driver.ownership.Load() != timerStopped || d.clock.Timers() > 0
			},
			func(d *closingDay) { d.AddAfter(2, 500*time.Microsecond) },
			func(d *closingDay) { d.clock.Step(2 * time.Millisecond) },
		},
		outcome: func(d *closingDay, _ int) string { return fmt.Sprintf("early %v", d.early) },
		outcomes: verdicts{
			"early false": certain,
		},
	}.run(t)
}
