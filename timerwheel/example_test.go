package timerwheel_test

import (
	"fmt"

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
