package shardq_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/shardq/shardq"
)

// A worker ends with its context or with the queue, whichever is first. It
// finishes its item. Items that are ready stay for others.
func ExampleQueue_GetContext() {
	q := shardq.MustNew(shardq.Options[string]{})
	ctx, cancel := context.WithCancel(context.Background())

	worker := func() error {
		for {
			item, err := q.GetContext(ctx)
			if err != nil {
				return err
			}
			fmt.Println("working on", item)
			q.Done(item)
			cancel() // the program stops the worker
		}
	}
	q.Add("a")
	fmt.Println(worker())
	fmt.Println(errors.Is(worker(), shardq.ErrShutDown))
	// Output:
	// working on a
	// context canceled
	// false
}

// A worker in five lines: the loop calls Done at the end of each turn, however
// the turn ends. The loop ends with the queue or with its context.
func ExampleQueue_Items() {
	q := shardq.MustNew(shardq.Options[string]{Shards: 1})
	q.Add("a")
	q.Add("b")
	q.ShutDown() // ready items are still handed out

	for item := range q.Items(context.Background()) {
		if item == "a" {
			continue // a is Done nevertheless
		}
		fmt.Println("working on", item)
	}
	fmt.Println("in processing:", q.Stats().Processing)
	// Output:
	// working on b
	// in processing: 0
}
