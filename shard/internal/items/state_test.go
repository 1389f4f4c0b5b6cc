package items

import "testing"

// TestTransitions compares the table with one written by hand. Each row is what
// must happen by the contract of the queue.
func TestTransitions(t *testing.T) {
	want := []struct {
		from   Phase
		what   Event
		to     Phase
		effect Effect
	}{
		{Idle, Added, Ready, Enqueue},
		{Idle, Taken, Idle, Ignore},
		{Idle, Finished, Idle, Ignore},     // Done without Get
		{Ready, Added, Ready, Deduplicate}, // deduplication
		{Ready, Taken, Processing, HandOut},
		{Ready, Finished, Ready, Ignore},        // Done without Get
		{Processing, Added, Dirty, Mark},        // one further run
		{Processing, Taken, Processing, Ignore}, // exclusion
		{Processing, Finished, Idle, Retire},
		{Dirty, Added, Dirty, Deduplicate}, // one further run, not two
		{Dirty, Taken, Dirty, Ignore},      // exclusion
		{Dirty, Finished, Ready, Enqueue},
		{Idle, Canceled, Idle, Ignore},
		{Ready, Canceled, Idle, Withdraw},
		{Processing, Canceled, Processing, Ignore}, // what has begun goes on
		{Dirty, Canceled, Processing, Unmark},
	}
	if len(want) != int(phases)*int(events) {
		t.Fatalf("%d rows for %d phases and %d events", len(want), phases, events)
	}
	for _, w := range want {
		e := Entry{Hash: 5, Next: 7, status: status(w.from) | delayedBit | 8<<backShift}
		got := e.Step(w.what)
		if got != w.effect || e.Phase() != w.to {
			t.Errorf("phase %d, event %d: to phase %d with effect %d, want %d with %d",
				w.from, w.what, e.Phase(), got, w.to, w.effect)
		}
		if e.Hash != 5 || e.Next != 7 || e.Previous() != 8 || !e.Delayed() {
			t.Errorf("phase %d, event %d prefetched the rest of the entry: %+v", w.from, w.what, e)
		}
	}
}
