package timerwheel_test

import (
	"fmt"
	"time"

	"github.com/shardq/shardq/timerwheel"
)

// A program keeps what its timers are for in a slice of its own. The position in
// it is the timer's id. (Position 0 stays unused: zero is no id.) A loop sleeps
// until the tick that Next names and calls Advance then.
func Example() {
	type reminder struct {
		text  string
		every uint64 // ticks, or 0 for once
	}
	reminders := []reminder{
		1: {"tea is ready", 0},
		2: {"look up from the screen", 20},
		3: {"go home", 0},
	}

	wheel := timerwheel.New(0)
	wheel.Schedule(1, 4)
	wheel.Schedule(2, 20)
	wheel.Schedule(3, 50)

	const closingTime = 55
	for now, ok := wheel.Next(); ok && now <= closingTime; now, ok = wheel.Next() {
		// A real program sleeps here until that tick has come, or until
		// something earlier is scheduled.
		wheel.Advance(now, 100, func(id uint32) {
			r := reminders[id]
			fmt.Printf("%2d: %s\n", now, r.text)
			if r.every > 0 {
				wheel.Schedule(id, now+r.every)
			}
		})
	}
	fmt.Println("still filed:", wheel.Len())
	// Output:
	//  4: tea is ready
	// 20: look up from the screen
	// 40: look up from the screen
	// 50: go home
	// still filed: 1
}

// A wheel knows no clock and no unit. Whoever counts in ticks of a millisecond
// rounds the present down and deadlines up: then no timer is early.
func ExampleNew() {
	const tick = time.Millisecond
	present := func(since time.Duration) uint64 { return uint64(since / tick) }
	deadline := func(since time.Duration) uint64 { return uint64((since + tick - 1) / tick) }

	now := 2500 * time.Microsecond // since the program began
	wheel := timerwheel.New(present(now))
	fmt.Println("now", wheel.Now())

	wheel.Schedule(1, deadline(now+10*time.Millisecond))
	due, _ := wheel.Deadline(1)
	fmt.Println("due at", due)
	// Output:
	// now 2
	// due at 13
}

// Schedule files a timer, and moves one that is filed. A deadline that has passed
// is not filed: that the timer is due, the caller learns at once.
func ExampleWheel_Schedule() {
	wheel := timerwheel.New(100)

	fmt.Println(wheel.Schedule(1, 150), wheel.Len())
	fmt.Println(wheel.Schedule(1, 120), wheel.Len()) // the same timer, earlier

	if !wheel.Schedule(2, 90) {
		fmt.Println("timer 2 is late: run it now")
	}
	if !wheel.Schedule(1, 100) {
		fmt.Println("timer 1 is due, and filed no longer:", wheel.Len())
	}
	// Output:
	// true 1
	// true 1
	// timer 2 is late: run it now
	// timer 1 is due, and filed no longer: 0
}

// Five timers are due, and each call of Advance does two steps at most. In between
// the wheel can be used, and a lock that guards it put down.
func ExampleWheel_Advance() {
	wheel := timerwheel.New(0)
	for id := uint32(1); id <= 5; id++ {
		wheel.Schedule(id, 10)
	}

	for arrived := false; !arrived; {
		var due []uint32
		arrived = wheel.Advance(10, 2, func(id uint32) { due = append(due, id) })
		fmt.Println(due, arrived)
		wheel.Cancel(4) // the last moment to do so
	}
	// Output:
	// [1 2] false
	// [3 5] false
	// [] true
}

// Next says when to wake up. That is the earliest deadline; or, while many timers
// share a slot and are far off, a tick before it, at which Advance sorts them.
func ExampleWheel_Next() {
	wheel := timerwheel.New(0)
	_, ok := wheel.Next()
	fmt.Println("anything to wait for:", ok)

	for id := uint32(1); id <= 100; id++ {
		wheel.Schedule(id, 5000)
	}
	for wheel.Len() > 0 {
		tick, _ := wheel.Next()
		expired := 0
		wheel.Advance(tick, 1000, func(uint32) { expired++ })
		fmt.Printf("woke at %d, %d timers expired\n", tick, expired)
	}
	// Output:
	// anything to wait for: false
	// woke at 4096, 0 timers expired
	// woke at 4992, 0 timers expired
	// woke at 5000, 100 timers expired
}

// The clock that a wheel is driven by was set back. Deadlines stay as they are.
func ExampleWheel_Rewind() {
	wheel := timerwheel.New(1000)
	wheel.Schedule(1, 1005)

	// It is 400 now. The wheel still stands at 1000, for which 410 has passed.
	fmt.Println(wheel.Schedule(2, 410))

	wheel.Rewind(400)
	fmt.Println(wheel.Schedule(2, 410))

	wheel.Advance(2000, 100, func(id uint32) {
		fmt.Printf("timer %d at %d\n", id, wheel.Now())
	})
	// Output:
	// false
	// true
	// timer 2 at 410
	// timer 1 at 1005
}

// Cancel takes a timer out at once. Its id can be used anew.
func ExampleWheel_Cancel() {
	wheel := timerwheel.New(0)
	wheel.Schedule(1, 10)
	fmt.Println(wheel.Cancel(1))
	fmt.Println(wheel.Cancel(1)) // there is none any more

	wheel.Schedule(1, 30)
	wheel.Advance(100, 100, func(id uint32) {
		fmt.Printf("timer %d at %d\n", id, wheel.Now())
	})
	// Output:
	// true
	// false
	// timer 1 at 30
}
