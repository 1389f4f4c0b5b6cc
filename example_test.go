package shardq_test

import (
	"fmt"

	"github.com/shardq/shardq"
)

// The whole of it: add, get, work, done.
func Example() {
	q := shardq.Must(shardq.Options[string]{})
	q.Add("reindex")
	q.Add("reindex") // merged with the first: one run serves both
	item, _ := q.Get()
	fmt.Println("working on", item)
	q.Done(item)
	fmt.Println("left:", q.Len())
	// Output:
	// working on reindex
	// left: 0
}
