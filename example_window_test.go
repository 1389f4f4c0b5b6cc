package shardq_test

import (
	"fmt"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
)

// An account gets at most one reminder in an hour, however many events ask for
// it, and also if the first one was sent long ago.
func ExampleQueue_AddWith_notAgainWithin() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: it moves on command
	queue := shardq.MustNew(shardq.Options[string]{Clock: fake})
	remind := func(account string) {
		queue.AddWith(account, shardq.AddOptions{NotAgainWithin: time.Hour})
	}
	for range 5 {
		remind("alice")
		for queue.Len() > 0 {
			account, _ := queue.Get()
			fmt.Println(fake.Now().Sub(time.Unix(0, 0)), account)
			queue.Done(account)
		}
		fake.Step(25 * time.Minute)
	}
	fmt.Println("refused:", queue.Stats().Deduplicated)
	// Output:
	// 0s alice
	// 1h15m0s alice
	// refused: 3
}
