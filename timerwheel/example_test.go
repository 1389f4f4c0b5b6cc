package timerwheel_test

import (
	"fmt"
	"time"

	"github.com/shardq/shardq/timerwheel"
)

// A program keeps the purpose of its timers in a slice. The position in the
// slice is the timer's id. (Position 0 stays unused, because 0 is not a valid
// id.) A loop sleeps until the tick that Next returns and then calls Advance.
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
		// A real program sleeps here until that tick, or until it schedules an
		// earlier one.
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

// A wheel knows no clock and no unit. This caller counts in ticks of a
// millisecond and rounds the current time down and deadlines up, so that no
// timer is early.
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

// Schedule files a timer, or moves one that is filed. If a deadline has passed,
// it reports false at once, and the caller handles the timer.
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

// Five timers are due, and each call of Advance does at most two steps. Between
// the calls, the program can use the wheel or release a lock that guards it.
func ExampleWheel_Advance() {
	wheel := timerwheel.New(0)
	for id := uint32(1); id <= 5; id++ {
		wheel.Schedule(id, 10)
	}

	for arrived := false; !arrived; {
		var due []uint32
		arrived = wheel.Advance(10, 2, func(id uint32) { due = append(due, id) })
		fmt.Println(due, arrived)
		wheel.Cancel(4) // still possible before it fires
	}
	// Output:
	// [1 2] false
	// [3 5] false
	// [] true
}

// Next returns when to wake up. That is usually the earliest deadline. While
// many timers share a slot and are far off, it is an earlier tick, at which
// Advance sorts them.
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

// The clock that drives the wheel was set back. Deadlines stay as they are.
func ExampleWheel_Rewind() {
	wheel := timerwheel.New(1000)
	wheel.Schedule(1, 1005)

	// The clock reads 400. The wheel is still at 1000, so 410 has passed.
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

// Cancel removes a timer at once. Its id can be used again.
func ExampleWheel_Cancel() {
	wheel := timerwheel.New(0)
	wheel.Schedule(1, 10)
	fmt.Println(wheel.Cancel(1))
	fmt.Println(wheel.Cancel(1)) // it is no longer filed

	wheel.Schedule(1, 30)
	wheel.Advance(100, 100, func(id uint32) {
		fmt.Printf("timer %d at %d\n", id, wheel.Now())
	})
	// Output:
	// true
	// false
	// timer 1 at 30
}
