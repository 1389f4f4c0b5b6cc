package shard

import (
	"slices"
	"testing"
	"time"
)

// TestC19H14SetBackUnderTheDriver: the driver has read the clock, and the clock
// is set back. Items are then delayed beyond what the clock shows now, but not
// beyond what the driver read. They must not become ready, and what was due
// must.
func TestC19H14SetBackUnderTheDriver(t *testing.T) {
	const due, delayed = 2, 1
	for _, test := range []struct {
		name     string
		addAfter func(s *Set[int])
	}{
		{"AddAfter", func(s *Set[int]) { s.AddAfter(delayed, time.Hour) }},
		{"two", func(s *Set[int]) { s.AddAfter(delayed, time.Hour); s.AddAfter(3, 70*time.Minute) }},
		{"earlier", func(s *Set[int]) { s.AddAfter(delayed, 2*time.Hour); s.AddAfter(delayed, time.Hour) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newMeddlingClock()
			s := newTestSet(t, Config[int]{Clock: c})
			s.AddAfter(due, time.Minute)
			const untilsReading = 1
			c.at(afterNow, untilsReading+1, func() {
				c.Fake.Step(-2 * time.Hour)
				test.addAfter(s)
			})
			c.Step(2 * time.Hour)
			checkSet(t, s)
			if early := allReady(t, s); len(early) > 0 {
				t.Fatalf("after the clock was set back to where it was, ready is %v", early)
			}
			c.Step(time.Minute)
			if ready := allReady(t, s); !slices.Equal(ready, []int{due}) {
				t.Fatalf("when one item is due, ready is %v", ready)
			}
			c.Step(time.Hour)
			if ready := allReady(t, s); !slices.Equal(ready, []int{due, delayed}) {
				t.Fatalf("when the other is due, ready is %v", ready)
			}
		})
	}
}

// TestFiledReadings: the readings of AddAfters that limit how far the driver
// advances.
func TestFiledReadings(t *testing.T) {
	w := newWheel(0)
	const drivers = 1000
	expect := func(number uint16, want uint64) {
		t.Helper()
		if got := w.safe(reading{now: drivers, number: number}); got != want {
			t.Errorf("in reading %d the wheel may go to %d, not %d", number, got, want)
		}
	}
	expect(7, drivers)
	w.filed(reading{now: 500, number: 6}, 7) // it read the clock before the driver
	expect(7, drivers)
	w.filed(reading{now: 600, number: 7}, 7)
	w.filed(reading{now: 500, number: 7}, 7)
	w.filed(reading{now: 700, number: 7}, 7)
	w.filed(reading{now: 400, number: 6}, 7)
	expect(7, 500)
	expect(8, drivers) // what was filed before a reading began does not count
	w.filed(reading{now: 900, number: 8}, 8)
	expect(8, 900)
	w.filed(reading{now: 2000, number: 8}, 8)
	expect(8, 900)
	w.filed(reading{now: 2000, number: 9}, 9)
	expect(9, drivers)
}
