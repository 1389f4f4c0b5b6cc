package contract

import (
	"reflect"
	"slices"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
)

// check compares all that can be seen of the queue.
func (p *playing[T]) check() {
	want := p.model.statsNow()
	p.event().after = want
	if got := counts(p.queue.Stats()); !reflect.DeepEqual(got, want) {
		p.fatalf("Stats are\n%+v, not\n%+v", got, want)
	}
	p.checkParts()
	p.checkMetrics()
	if got := p.queue.Len(); got != want.Ready {
		p.fatalf("Len is %d, not %d", got, want.Ready)
	}
	if got := p.queue.ShuttingDown(); got != p.model.refusing {
		p.fatalf("ShuttingDown is %v", got)
	}
	if !slices.EqualFunc(p.reports, p.model.reports, sameReport[T]) {
		p.fatalf("OnMisuse was called with %v, not %v", p.reports, p.model.reports)
	}
	p.reports, p.model.reports = nil, nil
	p.checkMarks()
	p.checkStuck()
	p.checkClaims()
	if fake, ok := p.clock.(*clock.Fake); ok {
		p.checkTimer(fake)
	}
}

// inspect compares the items, while they are few or if the call is a Snapshot.
func (p *playing[T]) inspect(c call) {
	if c.kind == callSnapshot || p.model.held() < 10 {
		p.checkAll()
		p.checkSnapshot(c.number)
	}
}

// checkMarks compares the calls of the watermark hook.
func (p *playing[T]) checkMarks() {
	p.mu.Lock()
	reported := p.marks
	p.marks = nil
	p.mu.Unlock()
	if !slices.Equal(reported, p.model.bounds.reported) {
		p.fatalf("OnWatermark was called with %v, not %v", reported, p.model.bounds.reported)
	}
	p.model.bounds.reported = nil
}

// sameReport compares reports, also of items that are not equal to themselves.
func sameReport[T comparable](a, b shardq.Misuse[T]) bool {
	same := a.Item == b.Item || a.Item != a.Item && b.Item != b.Item && reflect.TypeOf(a.Item) == reflect.TypeOf(b.Item)
	return same && a.Queue == b.Queue && a.Kind == b.Kind
}

// checkTimer checks that there is one timer if items are delayed, set for no
// later than the first deadline, and none after a shutdown.
func (p *playing[T]) checkTimer(fake *clock.Fake) {
	timers := fake.Timers()
	if timers > 1 || p.model.closed && timers > 0 {
		p.fatalf("%d timers are set, closed: %v", timers, p.model.closed)
	}
	earliest, waits := p.model.earliest()
	next, set := fake.Next()
	if waits && earliest < endOfTime && (!set || plus(p.model.now, max(next, 0)) > earliest) {
		p.fatalf("the first deadline is %v, now is %v, but the timer is set for %v from now: %v", earliest, p.model.now, next, set)
	}
}

func (p *playing[T]) finish() {
	for more := true; more; {
		for p.model.ready() > 0 || len(p.held) > 0 {
			for p.model.ready() > 0 {
				p.play(call{kind: callGet, times: 1})
			}
			p.play(call{kind: callDoneHeld, times: 1})
		}
		before := len(p.model.delayed)
		p.play(call{kind: callStepToNext, times: 1})
		more = len(p.model.delayed) < before
	}
	p.play(call{kind: callShutDown, times: 1})
	p.play(call{kind: callGet, times: 1})
	if stats := p.queue.Stats(); stats.Ready+stats.Delayed+stats.Processing+len(p.parked)+len(p.pending) > 0 {
		p.fatalf("at the end, Stats are %+v, and %d are parked, %d pending", stats, len(p.parked), len(p.pending))
	}
	for _, item := range p.items[:min(len(p.items), 20)] {
		if !unhashable(item) {
			p.checkRequeues(item)
		}
	}
}
