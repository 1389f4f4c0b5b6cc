package shardq_test

import (
	"fmt"

	"github.com/shardq/shardq"
)

// A controller starts: it has all objects to look at, and meanwhile somebody changes one.
// The live change goes first, and a key that is in both is looked at once.
func ExampleQueue_GetWithPriority() {
	const initial, live = -100, 0
	q := shardq.Must(shardq.Options[string]{Shards: 1})
	for _, key := range []string{"a", "b", "c", "d"} {
		q.AddWith(key, shardq.AddOptions{Priority: initial})
	}
	q.AddWith("c", shardq.AddOptions{Priority: live}) // it changes
	q.ShutDown()
	for {
		key, priority, shutdown := q.GetWithPriority()
		if shutdown {
			break
		}
		fmt.Println(key, priority)
		q.Done(key)
	}
	// Output:
	// c 0
	// a -100
	// b -100
	// d -100
}
