package shardq_test

import (
	"fmt"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
)

// An operator stops all workers while the database is upgraded. The queue goes
// on taking in items, and nothing is lost.
func ExampleQueue_Pause() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: it moves on command
	queue := shardq.MustNew(shardq.Options[string]{Clock: fake, Shards: 1})
	queue.Pause()
	queue.Add("invoice/17")
	queue.AddAfter("invoice/18", time.Minute)
	fake.Step(time.Hour) // the delay expires meanwhile

	_, ok := queue.TryClaim()
	fmt.Println("paused:", queue.Stats().Paused, "ready:", queue.Len(), "claimed:", ok)
	queue.Resume()
	for claim, ok := queue.TryClaim(); ok; claim, ok = queue.TryClaim() {
		fmt.Println(claim.Item)
		claim.Done()
	}
	// Output:
	// paused: true ready: 2 claimed: false
	// invoice/17
	// invoice/18
}
