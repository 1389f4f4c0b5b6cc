package shardq_test

import (
	"fmt"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
)

// A test of code that uses a queue steps through its delays: no sleep, no tolerance.
func Example_fakeClock() {
	fake := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	q := shardq.Must(shardq.Options[string]{Clock: fake})

	q.AddAfter("renew", 24*time.Hour)
	fake.Step(23 * time.Hour)
	fmt.Println("after 23 hours, ready:", q.Len(), "waiting:", q.Stats().Waiting)
	fake.Step(time.Hour)
	fmt.Println("after 24 hours, ready:", q.Len(), "waiting:", q.Stats().Waiting)
	// Output:
	// after 23 hours, ready: 0 waiting: 1
	// after 24 hours, ready: 1 waiting: 0
}
