package clock_test

import (
	"fmt"
	"time"

	"github.com/shardq/shardq/clock"
)

func ExampleNewFake() {
	fake := clock.NewFake(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	fake.AfterFunc(time.Hour, func() { fmt.Println("an hour has passed") })

	fake.Step(59 * time.Minute)
	wait, _ := fake.Next()
	fmt.Println(fake.Now().Format(time.TimeOnly), "still to wait:", wait)

	fake.Step(time.Minute)
	fmt.Println(fake.Now().Format(time.TimeOnly), "timers left:", fake.Timers())
	// Output:
	// 12:59:00 still to wait: 1m0s
	// an hour has passed
	// 13:00:00 timers left: 0
}
