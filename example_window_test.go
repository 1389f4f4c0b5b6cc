package shardq_test

import (
	"errors"
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

// A nightly job adds its items at a low priority, spread behind what is urgent.
func ExampleQueue_AddBatch_window() {
	queue := shardq.MustNew(shardq.Options[string]{Shards: 1})
	queue.AddBatch([]string{"report/1", "report/2"}, shardq.AddOptions{Priority: -1})
	queue.AddBatch([]string{"order/7"}, shardq.AddOptions{})
	for queue.Len() > 0 {
		item, _ := queue.Get()
		fmt.Println(item)
		queue.Done(item)
	}
	// Output:
	// order/7
	// report/1
	// report/2
}

// A full queue refuses work. A delayed item takes room as well.
func ExampleQueue_TryAdd_window() {
	queue := shardq.MustNew(shardq.Options[string]{Capacity: 1})
	fmt.Println(queue.TryAdd("tomorrow", shardq.AddOptions{After: 24 * time.Hour}))
	err := queue.TryAdd("urgent", shardq.AddOptions{Priority: 9})
	fmt.Println(errors.Is(err, shardq.ErrFull))
	queue.ShutDown()
	// Output:
	// <nil>
	// true
}
