package shard

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardq/shardq/clock"
)

// A tide is one shard that fills with thousands of items and empties again, so that its
// index splits and merges, its chunks come and go, and its table is given back, while
// visitors use it.
type tide struct {
	*Set[int]
	clock *clock.Fake
	// high is how many items the tide has; those of visitors come after.
	high int
	// flowing says that the tide is not over.
	flowing atomic.Bool
	fault   atomic.Pointer[string]
}

func newTide(t failer, high int) *tide {
	fake := clock.NewFake(start)
	d := &tide{Set: newTestSet(t, Config[int]{Shards: 1, Clock: fake}), clock: fake, high: high}
	d.flowing.Store(true)
	return d
}

// flow adds the items and finishes as many.
func (d *tide) flow() {
	defer d.flowing.Store(false)
	for item := range d.high {
		d.Add(item)
	}
	for range d.high {
		if item, _, _, ok := d.TryTake(); ok {
			d.Done(item)
		}
	}
}

// visit uses the queue in all ways, with items of its own, while the tide flows, or for
// as long as that takes.
func (d *tide) visit(item int) {
	for n := 0; n < 2*d.high && d.flowing.Load(); n++ {
		d.Add(item)
		d.AddAfter(item, time.Millisecond)
		if taken, _, _, ok := d.TryTake(); ok {
			d.Add(taken)
			d.Done(taken)
		}
		d.AddAfter(item+1, time.Duration(1+n%100)*time.Millisecond)
		d.Done(-1) // misuse
		if n%8 == 0 {
			d.clock.Step(time.Millisecond)
		}
	}
}

// look likewise reads all that can be read, and compares it with what can be.
func (d *tide) look(most int) {
	for n := 0; n < 2*d.high && d.flowing.Load(); n++ {
		stats, length := d.Stats(), d.Len()
		if stats.Ready > most || stats.Processing > 2 || stats.Waiting > most-d.high || length > most {
			fault := fmt.Sprintf("a reading of %+v, %d", stats, length)
			d.fault.Store(&fault)
		}
	}
}

// left lets all delays end, finishes all, and says what is left.
func (d *tide) left(t failer) string {
	if fault := d.fault.Load(); fault != nil {
		return *fault
	}
	checkSet(t, d.Set)
	d.clock.Step(time.Hour)
	finish(d.Set)
	checkSet(t, d.Set)
	stats := d.Stats()
	return fmt.Sprintf("%d items are left", stats.Ready+stats.Waiting+stats.Processing)
}

// TestLitmusTide: growing and shrinking, against everything.
func TestLitmusTide(t *testing.T) {
	for _, high := range []int{20, 600, 1200} {
		t.Run(fmt.Sprintf("items=%d", high), func(t *testing.T) {
			litmus[*tide]{
				rounds: 60_000 / high,
				world:  func(int) *tide { return newTide(t, high) },
				actors: []func(d *tide){
					(*tide).flow,
					func(d *tide) { d.visit(d.high) },
					func(d *tide) { d.look(d.high + 2) },
				},
				outcome: func(d *tide, _ int) string { return d.left(t) },
				outcomes: verdicts{
					"0 items are left": certain,
				},
			}.run(t)
		})
	}
}

// TestLitmusReadings: a shard's part of Stats is consistent in itself: items that go
// from processing to ready and back are never missing, and never counted twice. Len is
// off by no more than the item in a worker's hands.
func TestLitmusReadings(t *testing.T) {
	const items, cycles = 3, 20
	set := lasting(t, Config[int]{Shards: 1})
	var fault string
	litmus[*Set[int]]{
		rounds: 50_000,
		world: func(round int) *Set[int] {
			s := set(round)
			fault = ""
			for item := range items {
				s.Done(item) // of the one that was left in hand
				s.Add(item)
			}
			return s
		},
		actors: []func(s *Set[int]){
			func(s *Set[int]) {
				for range cycles {
					item, _, _, _ := s.TryTake()
					s.Add(item)
					s.Done(item)
				}
				s.TryTake() // and keeps that in hand
			},
			func(s *Set[int]) {
				for range cycles {
					stats, length := s.Stats(), s.Len()
					if stats.Ready+stats.Processing != items || length < items-1 || length > items {
						fault = fmt.Sprintf("a reading of %d ready, %d processing, length %d", stats.Ready, stats.Processing, length)
					}
				}
			},
		},
		outcome: func(s *Set[int], _ int) string { return fault },
		outcomes: verdicts{
			"": certain,
		},
	}.run(t)
}
