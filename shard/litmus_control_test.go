package shard

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/stats"
)

// A desk is a set whose items are canceled, drained and watched.
type desk struct {
	*Set[int]
	clock    *clock.Fake
	served   []int
	dropped  []int
	returned bool
	told     chan int
}

func newDesk(t tester, round int, config Config[int]) *desk {
	d := &desk{clock: clock.NewFake(start), told: make(chan int, 10)}
	config.Shards, config.Route, config.Clock = 1+round%2, parity, d.clock
	if config.StuckAfter > 0 {
		config.Ages = true
		config.OnStuck = func(i stats.Item[any]) { d.told <- i.Item.(int) }
	}
	d.Set = newTestSet(t, config)
	return d
}

// desks returns worlds in which first has run.
func desks(t tester, config Config[int], first func(d *desk)) func(round int) *desk {
	return func(round int) *desk {
		d := newDesk(t, round, config)
		first(d)
		return d
	}
}

func (d *desk) work() {
	for item, shutdown := d.Get(); !shutdown; item, shutdown = d.Get() {
		d.served = append(d.served, item)
		d.Done(item)
	}
}

func (d *desk) drain(w DelayedPolicy) {
	d.dropped, _ = d.Drain(context.Background(), w)
	d.returned = true
}

// tellAll lets the watchdog report all that it will ever report.
func (d *desk) tellAll() (told []int) {
	d.clock.Step(time.Hour)
	for len(d.told) > 0 {
		told = append(told, <-d.told)
	}
	slices.Sort(told)
	return told
}

// TestLitmusAddAfterAgainstDrain: an AddAfter that is not dropped is run,
// awaited, or returned by the drain, whatever its policy. No goroutine stays
// blocked (C42).
func TestLitmusAddAfterAgainstDrain(t *testing.T) {
	for _, test := range []struct {
		name     string
		policy   DelayedPolicy
		outcomes verdicts
	}{
		{"drop", DropDelayed, verdicts{
			"0 served, 0 returned, 1 dropped, the drain returned true": certain, // refused
			"0 served, 1 returned, 1 dropped, the drain returned true": certain,
		}},
		{"run", RunDelayed, verdicts{
			"0 served, 0 returned, 1 dropped, the drain returned true": certain,
			"1 served, 0 returned, 0 dropped, the drain returned true": certain,
		}},
		{"await", AwaitDelayed, verdicts{
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
					d.clock.Step(time.Second) // for the awaited items
					synctest.Wait()
					return fmt.Sprintf("%d served, %d returned, %d dropped, the drain returned %v",
						len(d.served), len(d.dropped), d.Core.Stats().Dropped, d.returned)
				},
				outcomes: test.outcomes,
			}.run(t)
		})
	}
}

// TestLitmusDrainsAgainstEachOther: of concurrent drains each returns, whatever
// their policies, and each delayed item is handled once.
func TestLitmusDrainsAgainstEachOther(t *testing.T) {
	litmus[*desk]{
		rounds: 20_000,
		world:  desks(t, Config[int]{}, func(d *desk) { d.AddAfter(1, time.Second) }),
		actors: []func(d *desk){
			func(d *desk) { d.drain(DropDelayed) },
			func(d *desk) { d.served, _ = d.Drain(context.Background(), AwaitDelayed) },
		},
		outcome: func(d *desk, asleep int) string {
			return fmt.Sprintf("%v, %v, %d blocked", d.dropped, d.served, asleep)
		},
		after: func(d *desk) { d.Core.ShutDown() },
		outcomes: verdicts{
			"[1], [], 0 blocked": certain,
		},
	}.run(t)
}

// TestLitmusWatchdog: an item is handed out while the driver searches for stuck
// items. It is reported in time, even without another call (C44).
func TestLitmusWatchdog(t *testing.T) {
	litmus[*desk]{
		rounds: 50_000,
		world: desks(t, Config[int]{Settings: Settings{Tick: time.Second, StuckAfter: 10 * time.Second}}, func(d *desk) {
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
