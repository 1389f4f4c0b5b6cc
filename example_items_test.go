package shardq_test

import (
	"context"
	"fmt"

	"github.com/shardq/shardq"
)

// A worker in five lines: Done is called at the end of each turn, whichever way it ends,
// and the loop ends with the queue, or with its context.
func ExampleQueue_Items() {
	q := shardq.Must(shardq.Options[string]{Shards: 1})
	q.Add("a")
	q.Add("b")
	q.ShutDown() // what is ready is still handed out

	for item := range q.Items(context.Background()) {
		if item == "a" {
			continue // a is Done all the same
		}
		fmt.Println("working on", item)
	}
	fmt.Println("in processing:", q.Stats().Processing)
	// Output:
	// working on b
	// in processing: 0
}
