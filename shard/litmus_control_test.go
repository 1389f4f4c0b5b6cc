package shard

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardq/shardq/clock"
)

// A desk is a set whose items are canceled, drained and watched.
type desk struct {
	*Set[int]
	clock    *clock.Fake
	was      Canceled
	taken    bool
	served   []int
	dropped  []int
	returned bool
	told     chan int
}

func newDesk(t failer, round int, config Config[int]) *desk {
	d := &desk{clock: clock.NewFake(start), told: make(chan int, 10)}
	config.Shards, config.Route, config.Clock = 1+round%2, parity, d.clock
	if config.StuckAfter > 0 {
		config.Ages = true
		config.OnStuck = func(i Info[int]) { d.told <- i.Item }
	}
	d.Set = newTestSet(t, config)
	return d
}

// desks returns worlds that something is done with first.
func desks(t failer, config Config[int], first func(d *desk)) func(round int) *desk {
	return func(round int) *desk {
		d := newDesk(t, round, config)
		first(d)
		return d
	}
}

func (d *desk) cancel1() { d.was = d.Cancel(1) }

func (d *desk) takeOne() { _, _, _, d.taken = d.TryTake() }

func (d *desk) work() {
	for item, shutdown := d.Get(); !shutdown; item, shutdown = d.Get() {
		d.served = append(d.served, item)
		d.Done(item)
	}
}

func (d *desk) drain(w WaitingPolicy) {
	d.dropped, _ = d.Drain(context.Background(), w)
	d.returned = true
}

// tellAll lets the watchdog tell all that it will ever tell.
func (d *desk) tellAll() (told []int) {
	d.clock.Step(time.Hour)
	for len(d.told) > 0 {
		told = append(told, <-d.told)
	}
	slices.Sort(told)
	return told
}

// TestLitmusCancelAgainstGet: an item is canceled or handed out (C39).
func TestLitmusCancelAgainstGet(t *testing.T) {
	litmus[*desk]{
		rounds:  50_000,
		world:   desks(t, Config[int]{}, func(d *desk) { d.Add(1) }),
		actors:  []func(d *desk){(*desk).cancel1, (*desk).takeOne},
		outcome: func(d *desk, _ int) string { return fmt.Sprintf("canceled %v, taken %v", d.was.Ready, d.taken) },
		outcomes: verdicts{
			"canceled true, taken false":  certain,
			"canceled false, taken true":  certain,
			"canceled true, taken true":   forbidden,
			"canceled false, taken false": forbidden,
		},
	}.run(t)
}

// TestLitmusCancelAgainstDone: a dirty item does not run once more after a Cancel, on
// whichever side of its Done.
func TestLitmusCancelAgainstDone(t *testing.T) {
	litmus[*desk]{
		rounds: 50_000,
		world:  desks(t, Config[int]{}, func(d *desk) { d.Add(1); d.TryTake(); d.Add(1) }),
		actors: []func(d *desk){(*desk).cancel1, func(d *desk) { d.Done(1) }},
		outcome: func(d *desk, _ int) string {
			return fmt.Sprintf("dirty %v, ready %v, %d held", d.was.Dirty, d.was.Ready, d.Stats().Held)
		},
		outcomes: verdicts{
			"dirty true, ready false, 0 held": certain,
			"dirty false, ready true, 0 held": certain,
		},
	}.run(t)
}

// TestLitmusCancelAgainstDelay: likewise an item whose delay ends.
func TestLitmusCancelAgainstDelay(t *testing.T) {
	litmus[*desk]{
		rounds: 50_000,
		world:  desks(t, Config[int]{}, func(d *desk) { d.AddAfter(1, time.Second) }),
		actors: []func(d *desk){(*desk).cancel1, func(d *desk) { d.clock.Step(time.Second) }},
		outcome: func(d *desk, _ int) string {
			return fmt.Sprintf("waiting %v, ready %v, %d held", d.was.Waiting, d.was.Ready, d.Stats().Held)
		},
		outcomes: verdicts{
			"waiting true, ready false, 0 held": certain,
			"waiting false, ready true, 0 held": certain,
		},
	}.run(t)
}

// TestLitmusCancelAgainstDrain: what a drain waits for is canceled, and the drain returns.
func TestLitmusCancelAgainstDrain(t *testing.T) {
	litmus[*desk]{
		rounds: 50_000,
		world: desks(t, Config[int]{}, func(d *desk) {
			d.Add(1)
			d.AddAfter(2, time.Second)
		}),
		actors: []func(d *desk){
			func(d *desk) { d.Cancel(1) },
			func(d *desk) { d.Cancel(2) },
			func(d *desk) { d.drain(AwaitWaiting) },
		},
		outcome:  func(d *desk, _ int) string { return fmt.Sprintf("returned %v", d.returned) },
		after:    func(d *desk) { d.ShutDown() },
		outcomes: verdicts{"returned true": certain},
	}.run(t)
}

// TestLitmusAddAfterAgainstDrain: an AddAfter that is not dropped is run, awaited, or among
// those that the drain returns, whatever the drain does with them; and nobody sleeps on
// (C42).
func TestLitmusAddAfterAgainstDrain(t *testing.T) {
	for _, test := range []struct {
		name     string
		policy   WaitingPolicy
		outcomes verdicts
	}{
		{"drop", DropWaiting, verdicts{
			"0 served, 0 returned, 1 dropped, the drain returned true": certain, // refused
			"0 served, 1 returned, 1 dropped, the drain returned true": certain,
		}},
		{"run", RunWaiting, verdicts{
			"0 served, 0 returned, 1 dropped, the drain returned true": certain,
			"1 served, 0 returned, 0 dropped, the drain returned true": certain,
		}},
		{"await", AwaitWaiting, verdicts{
			"0 served, 0 returned, 1 dropped, the drain returned true": certain,
			"1 served, 0 returned, 0 dropped, the drain returned true": certain,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			litmus[*desk]{
				rounds: 20_000,
				world:  desks(t, Config[int]{}, func(*desk) {}),
				actors: []func(d *desk){
					func(d *desk) { d.AddAfter(1, time.Second) },
					func(d *desk) { d.drain(test.policy) },
					(*desk).work,
				},
				outcome: func(d *desk, _ int) string {
					d.clock.Step(time.Second) // for what is awaited
					synctest.Wait()
					return fmt.Sprintf("%d served, %d returned, %d dropped, the drain returned %v",
						len(d.served), len(d.dropped), d.Stats().Dropped, d.returned)
				},
				outcomes: test.outcomes,
			}.run(t)
		})
	}
}

// TestAddAfterInFlightAtDrain: an AddAfter was let in, and holds its shard's lock, when a
// Drain comes that runs what waits. Its item is run: the drain waits for the lock, though
// the shard has nothing published (drain.go: runWaiting).
func TestAddAfterInFlightAtDrain(t *testing.T) {
	d := newDesk(t, 0, Config[int]{})
	at := d.driver.taken(d.time.nanoseconds())
	f := d.time.filing(Delay{Duration: time.Second}, at)
	sh := d.shard(0)
	sh.mu.Lock()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		d.drain(RunWaiting)
	}()
	for !d.ShuttingDown() {
		runtime.Gosched()
	}
	soon(d.closing.begun.Load) // a drain that has passed by
	sh.wheel = newWheel(at.now)
	sh.wait(1, address{hash: uint32(d.hash(1))}, at, f)
	sh.mu.Unlock()
	d.work()
	<-drained
	if !slices.Equal(d.served, []int{1}) || len(d.dropped) > 0 {
		t.Errorf("served are %v, dropped %v", d.served, d.dropped)
	}
}

// TestLitmusDrainsAgainstEachOther: of drains at once each returns, whatever they do with
// what waits, which comes to one end.
func TestLitmusDrainsAgainstEachOther(t *testing.T) {
	litmus[*desk]{
		rounds: 20_000,
		world:  desks(t, Config[int]{}, func(d *desk) { d.AddAfter(1, time.Second) }),
		actors: []func(d *desk){
			func(d *desk) { d.drain(DropWaiting) },
			func(d *desk) { d.served, _ = d.Drain(context.Background(), AwaitWaiting) },
		},
		outcome: func(d *desk, asleep int) string { return fmt.Sprintf("%v, %v, %d sleep", d.dropped, d.served, asleep) },
		after:   func(d *desk) { d.ShutDown() },
		outcomes: verdicts{
			"[1], [], 0 sleep": certain,
		},
	}.run(t)
}

// TestLitmusWatchdog: an item is handed out while the driver looks for what is stuck. It
// is told of in its time, if nobody ever calls again (C44).
func TestLitmusWatchdog(t *testing.T) {
	litmus[*desk]{
		rounds: 50_000,
		world: desks(t, Config[int]{Tick: time.Second, StuckAfter: 10 * time.Second}, func(d *desk) {
			d.Add(1)
			d.Add(2)
			d.Get()
		}),
		actors: []func(d *desk){
			func(d *desk) { d.clock.Step(11 * time.Second) },
			func(d *desk) { d.Get() },
		},
		outcome: func(d *desk, _ int) string {
			return fmt.Sprint(d.tellAll())
		},
		outcomes: verdicts{"[1 2]": certain, "[1]": forbidden},
	}.run(t)
}

// TestLitmusWatchdogAgainstDone: an item that is Done while the driver looks is told of or
// not; and the one after it is, once.
func TestLitmusWatchdogAgainstDone(t *testing.T) {
	litmus[*desk]{
		rounds: 50_000,
		world: desks(t, Config[int]{Tick: time.Second, StuckAfter: 10 * time.Second}, func(d *desk) {
			for item := range 2 {
				d.Add(2 * item)
				d.Get()
			}
		}),
		actors: []func(d *desk){
			func(d *desk) { d.clock.Step(11 * time.Second) },
			func(d *desk) { d.Done(0) },
		},
		outcome: func(d *desk, _ int) string {
			return fmt.Sprint(d.tellAll())
		},
		outcomes: verdicts{"[0 2]": certain, "[2]": certain},
	}.run(t)
}

// TestLitmusPulse: the driver says that the present has passed while an operation relies on
// it. The next operation does not take what has passed for the present.
func TestLitmusPulse(t *testing.T) {
	litmus[*desk]{
		rounds: 50_000,
		world:  desks(t, Config[int]{Tick: time.Second, Ages: true}, func(d *desk) { d.Add(0) }),
		actors: []func(d *desk){
			func(d *desk) { d.clock.Step(time.Second) },
			func(d *desk) { d.Add(1) },
		},
		outcome: func(d *desk, _ int) string {
			d.clock.Step(5 * time.Second)
			d.Add(2)
			rows := d.Look(3).Ready
			return fmt.Sprint(rows[2].Item, " since ", rows[2].Since.Sub(start))
		},
		outcomes: verdicts{"2 since 6s": certain, "2 since 1s": forbidden, "2 since 0s": forbidden},
	}.run(t)
}
