package shardq_test

import (
	"fmt"

	"github.com/shardq/shardq"
)

// A controller starts and adds all objects. Meanwhile a user changes one of
// them: that object goes first, and runs once.
func ExampleQueue_GetWithPriority() {
	const initial, live = -100, 0
	queue := shardq.MustNew(shardq.Options[string]{Shards: 1})
	for _, key := range []string{"a", "b", "c", "d"} {
		queue.AddWith(key, shardq.AddOptions{Priority: initial})
	}
	queue.AddWith("c", shardq.AddOptions{Priority: live}) // a user changes it

	queue.ShutDown() // for this example: ready keys are still handed out
	for {
		key, priority, shutdown := queue.GetWithPriority()
		if shutdown {
			break
		}
		fmt.Println(key, priority)
		queue.Done(key)
	}
	// Output:
	// c 0
	// a -100
	// b -100
	// d -100
}
