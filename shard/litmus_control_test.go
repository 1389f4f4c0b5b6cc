package shard

import (
	"fmt"
	"slices"
	"testing"
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

// tellAll lets the watchdog report all that it will ever report.
func (d *desk) tellAll() (told []int) {
	d.clock.Step(time.Hour)
	for len(d.told) > 0 {
		told = append(told, <-d.told)
	}
	slices.Sort(told)
	return told
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
