package shardq_test

import (
	"fmt"
	"strings"

	"github.com/shardq/shardq"
)

// One tenant imports all that it has, and another one changes one object: the second does not
// wait for the first. And no tenant has more than two workers at once.
func ExampleOptions_group() {
	q := shardq.Must(shardq.Options[string]{
		Shards: 1,
		Group: func(key string) string {
			tenant, _, _ := strings.Cut(key, "/")
			return tenant
		},
		GroupLimit: 2,
	})
	for i := range 1000 {
		q.Add(fmt.Sprintf("big/%d", i))
	}
	q.Add("small/1")

	for range 3 {
		key, _ := q.Get()
		fmt.Println(key)
	}
	for group := range q.Groups() {
		if group.HeldBack {
			fmt.Printf("%s: %d in processing, %d ready, and held back\n", group.Group, group.Processing, group.Ready)
		}
	}
	// Output:
	// big/0
	// small/1
	// big/1
	// big: 2 in processing, 998 ready, and held back
}
