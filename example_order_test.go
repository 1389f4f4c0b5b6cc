package shardq_test

import (
	"fmt"

	"github.com/shardq/shardq"
)

// With one shard, items come in the strict order of their becoming ready. An item
// that is added while it is worked on becomes ready at its Done.
func Example_strictOrder() {
	q := shardq.Must(shardq.Options[string]{Shards: 1})
	q.Add("first")
	q.Add("second")

	first, _ := q.Get()
	q.Add(first) // again
	q.Add("third")
	q.Done(first)

	for q.Len() > 0 {
		item, _ := q.Get()
		fmt.Println(item)
		q.Done(item)
	}
	// Output:
	// second
	// third
	// first
}
