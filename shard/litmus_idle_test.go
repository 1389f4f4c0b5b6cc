package shard

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestLitmusWaitIdle: the last Done, a Cancel and the last check of a WaitIdle
// meet. WaitIdle does not stay blocked beside a set that holds nothing (C59).
func TestLitmusWaitIdle(t *testing.T) {
	litmus[*desk]{
		rounds: 20_000,
		world: desks(t, Config[int]{}, func(d *desk) {
			d.Add(1)
			d.Get()
			d.AddAfter(2, time.Hour)
		}),
		actors: []func(d *desk){
			func(d *desk) { d.Done(1) },
			func(d *desk) { d.Cancel(2) },
			func(d *desk) { _ = d.Core.WaitIdle(context.Background(), nil); d.returned = true },
		},
		outcome:  func(d *desk, asleep int) string { return fmt.Sprintf("returned %v, %d blocked", d.returned, asleep) },
		outcomes: verdicts{"returned true, 0 blocked": certain},
	}.run(t)
}

// TestLitmusRetryAgainstDrain: a worker retries its item and ends its
// processing while a Drain begins that accepts retries. The item runs again, or
// was refused to the worker, and the drain returns (C42).
func TestLitmusRetryAgainstDrain(t *testing.T) {
	for _, policy := range []DelayedPolicy{DropDelayed, RunDelayed, AwaitDelayed} {
		t.Run(fmt.Sprint(policy), func(t *testing.T) {
			litmus[*desk]{
				rounds: 10_000,
				world: desks(t, Config[int]{}, func(d *desk) {
					d.Add(1)
					d.Get()
				}),
				actors: []func(d *desk){
					func(d *desk) {
						d.AddAfter(1, time.Second)
						d.Done(1)
					},
					func(d *desk) {
						err := d.DrainUntil(context.Background(), Draining{policy, true}, d.Core.Released(), &d.dropped)
						d.returned = err == nil
					},
					(*desk).work,
				},
				outcome: func(d *desk, _ int) string {
					d.clock.Step(time.Second)
					synctest.Wait()
					return fmt.Sprintf("%d in all, %d refused, the drain returned %v",
						len(d.served)+len(d.dropped), int(d.Core.Stats().Dropped)-len(d.dropped), d.returned)
				},
				outcomes: verdicts{"1 in all, 0 refused, the drain returned true": certain},
			}.run(t)
		})
	}
}
