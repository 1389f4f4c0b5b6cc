package shardq_test

import (
	"context"
	"fmt"

	"github.com/shardq/shardq"
)

// A worker that can process many items at once, such as write them to a
// database, takes them in batches.
func ExampleQueue_GetBatch() {
	q := shardq.MustNew(shardq.Options[string]{Shards: 1})
	q.AddBatch([]string{"a", "b", "b", "c"})

	rows := make([]string, 100)
	n, err := q.GetBatch(context.Background(), rows) // waits for one, takes all that are ready
	fmt.Println("writing", rows[:n], err)
	q.DoneBatch(rows[:n])
	fmt.Println("left:", q.Stats().Held)
	// Output:
	// writing [a b c] <nil>
	// left: 0
}
