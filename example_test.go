package shardq_test

import (
	"fmt"

	"github.com/shardq/shardq"
)

// Example adds an item, gets it, works on it, and calls Done.
func Example() {
	q := shardq.MustNew(shardq.Options[string]{})
	q.Add("reindex")
	q.Add("reindex") // deduplicated: one run serves both adds
	item, _ := q.Get()
	fmt.Println("working on", item)
	q.Done(item)
	fmt.Println("left:", q.Len())
	// Output:
	// working on reindex
	// left: 0
}
