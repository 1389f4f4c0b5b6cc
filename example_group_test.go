package shardq_test

import (
	"fmt"
	"strings"

	"github.com/shardq/shardq"
)

// One tenant imports a thousand objects, and another tenant changes one. The
// second does not wait for the first, and no tenant has more than two workers.
func ExampleOptions_group() {
	queue := shardq.MustNew(shardq.Options[string]{
		Shards: 1,
		Group: func(key string) string {
			tenant, _, _ := strings.Cut(key, "/")
			return tenant
		},
		GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: 2} },
	})
	for i := range 1000 {
		queue.Add(fmt.Sprintf("big/%d", i))
	}
	queue.Add("small/1")

	for range 3 {
		key, _ := queue.Get()
		fmt.Println(key)
	}
	for group := range queue.Groups() {
		if group.Throttled {
			fmt.Printf("%s: %d in flight, %d ready, throttled\n", group.Group, group.Processing, group.Ready)
		}
	}
	// Output:
	// big/0
	// small/1
	// big/1
	// big: 2 in flight, 998 ready, throttled
}
