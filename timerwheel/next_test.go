package timerwheel

import "testing"

// TestC19NextOfACrowdedSlot: a slot with more timers than Next searches may
// hold its earliest anywhere. Next must not return a later tick, and Advance
// must fire the timer on time.
func TestC19NextOfACrowdedSlot(t *testing.T) {
	const timers, latest = 100, 8191
	w := New(0)
	for id := range uint64(timers) { // all in one slot of level 2, the earliest in the middle
		w.Schedule(uint32(id+1), latest-(id+timers/2)%timers)
	}
	for earliest := uint64(latest - timers + 1); earliest <= latest; earliest++ {
		next, ok := w.Next()
		if !ok || next > earliest {
			t.Fatalf("Next is %d (%v), the earliest deadline is %d", next, ok, earliest)
		}
		for fired := 0; fired == 0; next, _ = w.Next() {
			w.Advance(next, timers, func(uint32) { fired++ })
			if fired > 1 || fired == 1 && w.Now() != earliest {
				t.Fatalf("%d timers fired at %d, the earliest deadline is %d", fired, w.Now(), earliest)
			}
		}
	}
}

// TestRewindToThePresent: a Rewind to the current tick sorts nothing again and
// leaves Next unchanged.
func TestRewindToThePresent(t *testing.T) {
	w := New(100)
	w.Schedule(1, 5000)
	w.Rewind(100)
	if next, ok := w.Next(); next != 5000 || !ok {
		t.Errorf("Next is %d (%v)", next, ok)
	}
}
