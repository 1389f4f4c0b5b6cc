package timerwheel

import "testing"

// TestC19NextOfACrowdedSlot: a slot with more timers than Next looks through may hold its
// earliest anywhere. Next must not lie after it, and Advance must fire it on time.
func TestC19NextOfACrowdedSlot(t *testing.T) {
	const timers, latest = 100, 8191
	w := New(0)
	for id := uint32(1); id <= timers; id++ {
		w.Schedule(id, latest-uint64(id)) // all in one slot of level 2, the earliest last
	}
	fired := uint32(timers)
	for w.Len() > 0 {
		earliest := latest - uint64(fired)
		next, ok := w.Next()
		if !ok || next > earliest {
			t.Fatalf("Next is %d (%v), the earliest deadline is %d", next, ok, earliest)
		}
		w.Advance(next, timers, func(id uint32) {
			if id != fired || w.Now() != earliest {
				t.Fatalf("timer %d fired at %d, not timer %d at %d", id, w.Now(), fired, earliest)
			}
			fired--
		})
	}
}

// TestRewindToThePresent does nothing: nothing is sorted anew, and Next is as it was.
func TestRewindToThePresent(t *testing.T) {
	w := New(100)
	w.Schedule(1, 5000)
	w.Rewind(100)
	if next, ok := w.Next(); next != 5000 || !ok {
		t.Errorf("Next is %d (%v)", next, ok)
	}
}
