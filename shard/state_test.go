package shard

import "testing"

// TestTransitions compares the table with one written by hand. Each row is what
// must happen by the contract of the queue.
func TestTransitions(t *testing.T) {
	want := []struct {
		from   phase
		what   event
		to     phase
		effect effect
	}{
		{idle, added, ready, enqueue},
		{idle, taken, idle, ignore},
		{idle, finished, idle, ignore},     // Done without Get
		{ready, added, ready, deduplicate}, // deduplication
		{ready, taken, processing, handOut},
		{ready, finished, ready, ignore},        // Done without Get
		{processing, added, dirty, mark},        // one further run
		{processing, taken, processing, ignore}, // exclusion
		{processing, finished, idle, retire},
		{dirty, added, dirty, deduplicate}, // one further run, not two
		{dirty, taken, dirty, ignore},      // exclusion
		{dirty, finished, ready, enqueue},
		{idle, canceled, idle, ignore},
		{ready, canceled, idle, withdraw},
		{processing, canceled, processing, ignore}, // what has begun goes on
		{dirty, canceled, processing, unmark},
	}
	if len(want) != int(phases)*int(events) {
		t.Fatalf("%d rows for %d phases and %d events", len(want), phases, events)
	}
	for _, w := range want {
		e := entry{hash: 5, next: 7, status: status(w.from) | delayedBit | 8<<backShift}
		got := e.step(w.what)
		if got != w.effect || e.phase() != w.to {
			t.Errorf("phase %d, event %d: to phase %d with effect %d, want %d with %d",
				w.from, w.what, e.phase(), got, w.to, w.effect)
		}
		if e.hash != 5 || e.next != 7 || e.previous() != 8 || !e.delayed() {
			t.Errorf("phase %d, event %d prefetched the rest of the entry: %+v", w.from, w.what, e)
		}
	}
}
