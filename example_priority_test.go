package shardq_test

import (
	"fmt"

	"github.com/shardq/shardq"
)

// A controller starts and adds all objects. Meanwhile a user changes one of
// them: that object goes first, and runs once.
func ExampleQueue_AddWith_priority() {
	const initial, live = -100, 0
	queue := shardq.MustNew(shardq.Options[string]{Shards: 1})
	for _, key := range []string{"a", "b", "c", "d"} {
		queue.AddWith(key, shardq.AddOptions{Priority: initial})
	}
	queue.AddWith("c", shardq.AddOptions{Priority: live}) // a user changes it

	for {
		claim, ok := queue.TryClaim()
		if !ok {
			break
		}
		fmt.Println(claim.Item, claim.Priority)
		claim.Done()
	}
	// Output:
	// c 0
	// a -100
	// b -100
	// d -100
}
