package shardq_test

import (
	"context"
	"fmt"

	"github.com/shardq/shardq"
)

// What can be done for many items at once, such as to write them to a database, is taken
// from the queue in batches.
func ExampleQueue_GetBatch() {
	q := shardq.Must(shardq.Options[string]{Shards: 1})
	q.AddBatch([]string{"a", "b", "b", "c"})

	rows := make([]string, 100)
	n, err := q.GetBatch(context.Background(), rows) // waits for one, takes what is there
	fmt.Println("writing", rows[:n], err)
	q.DoneBatch(rows[:n])
	fmt.Println("left:", q.Stats().Held)
	// Output:
	// writing [a b c] <nil>
	// left: 0
}
