package shardq_test

import (
	"fmt"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
)

// A test steps through the delays of a queue, without sleeping.
func Example_fakeClock() {
	fake := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	queue := shardq.Must(shardq.Options[string]{Clock: fake})

	queue.AddAfter("renew", 24*time.Hour)
	fake.Step(23 * time.Hour)
	fmt.Println("after 23 hours, ready:", queue.Len(), "delayed:", queue.Stats().Waiting)
	fake.Step(time.Hour)
	fmt.Println("after 24 hours, ready:", queue.Len(), "delayed:", queue.Stats().Waiting)
	// Output:
	// after 23 hours, ready: 0 delayed: 1
	// after 24 hours, ready: 1 delayed: 0
}
