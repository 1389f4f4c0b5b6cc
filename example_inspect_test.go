package shardq_test

import (
	"fmt"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
)

// What is in the queue: the longest in processing first, and when what waits will be ready.
func ExampleQueue_Snapshot() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: it shows since when
	q := shardq.Must(shardq.Options[string]{Shards: 1, Clock: fake, Ages: true})
	for _, item := range []string{"slow", "quick"} {
		q.Add(item)
		_, _ = q.Get()
		fake.Step(30 * time.Second)
	}
	q.AddRateLimited("failed")

	s := q.Snapshot(10)
	for _, i := range s.Processing {
		fmt.Println(i.Item, "in processing for", s.Time.Sub(i.Since))
	}
	for _, i := range s.Waiting {
		fmt.Println(i.Item, "waits for", i.Deadline.Sub(s.Time), "after", i.Attempts, "failure")
	}
	// Output:
	// slow in processing for 1m0s
	// quick in processing for 30s
	// failed waits for 5ms after 1 failure
}

// All items in a state, one after the other. The loop may take its time: no lock is held.
func ExampleQueue_All() {
	q := shardq.Must(shardq.Options[string]{Shards: 1})
	q.AddBatch([]string{"b", "a", "c"})
	for i := range q.All(shardq.Ready) {
		fmt.Println(i.Item, i.State, "in shard", i.Shard)
	}
	// Output:
	// b ready in shard 0
	// a ready in shard 0
	// c ready in shard 0
}

// Somebody is told of a worker that does not come back.
func ExampleOptions_onStuck() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: time passes at once
	q := shardq.Must(shardq.Options[string]{
		Clock:      fake,
		StuckAfter: time.Minute,
		OnStuck: func(i shardq.ItemInfo[string]) {
			fmt.Println(i.Item, "has been in processing for a minute")
		},
	})
	q.Add("endless")
	_, _ = q.Get()
	fake.Step(time.Hour)
	fake.Step(time.Hour) // it is told once
	// Output: endless has been in processing for a minute
}
