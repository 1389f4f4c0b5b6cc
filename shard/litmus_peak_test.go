package shard

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardq/shardq/clock"
)

// A peak is one shard that fills with thousands of items and empties again, so
// that its index splits and merges, its chunks come and go, and its table is
// given back, while visitors use it.
type peak struct {
	*Set[int]
	clock *clock.Fake
	// high is the number of items of the peak. Those of visitors come after.
	high int
	// flowing reports that the peak is not over.
	flowing atomic.Bool
	fault   atomic.Pointer[string]
}

func newPeak(t failer, high int) *peak {
	fake := clock.NewFake(start)
	d := &peak{Set: newTestSet(t, Config[int]{Shards: 1, Clock: fake}), clock: fake, high: high}
	d.flowing.Store(true)
	return d
}

// flow adds the items and finishes as many.
func (d *peak) flow() {
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

// visit uses the queue in all ways, with items of its own, while the peak goes
// on.
func (d *peak) visit(item int) {
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

// read reads all that can be read, and compares it with what is possible.
func (d *peak) read(most int) {
	for n := 0; n < 2*d.high && d.flowing.Load(); n++ {
		st, length := d.Stats(), d.Len()
		if st.Ready > most || st.Processing > 2 || st.Delayed > most-d.high || length > most {
			fault := fmt.Sprintf("a reading of %+v, %d", st, length)
			d.fault.Store(&fault)
		}
	}
}

// left lets all delays expire, finishes all items, and returns what is left.
func (d *peak) left(t failer) string {
	if fault := d.fault.Load(); fault != nil {
		return *fault
	}
	checkSet(t, d.Set)
	d.clock.Step(time.Hour)
	finish(d.Set)
	checkSet(t, d.Set)
	st := d.Stats()
	return fmt.Sprintf("%d items are left", st.Ready+st.Delayed+st.Processing)
}

// TestLitmusPeak: growing and shrinking, against everything.
func TestLitmusPeak(t *testing.T) {
	for _, high := range []int{20, 600, 1200} {
		t.Run(fmt.Sprintf("items=%d", high), func(t *testing.T) {
			litmus[*peak]{
				rounds: 60_000 / high,
				world:  func(int) *peak { return newPeak(t, high) },
				actors: []func(d *peak){
					(*peak).flow,
					func(d *peak) { d.visit(d.high) },
					func(d *peak) { d.read(d.high + 2) },
				},
				outcome: func(d *peak, _ int) string { return d.left(t) },
				outcomes: verdicts{
					"0 items are left": certain,
				},
			}.run(t)
		})
	}
}
