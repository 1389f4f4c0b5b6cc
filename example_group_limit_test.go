package shardq_test

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/shardq/shardq"
)

// A tenant of the large plan may have three items in flight, and all others
// one. A tenant that changes its plan does not wait for its next item.
func ExampleOptions_groupPolicy() {
	var upgraded atomic.Bool // several goroutines may ask for policies at once
	queue := shardq.MustNew(shardq.Options[string]{
		Shards: 1,
		Group: func(key string) string {
			tenant, _, _ := strings.Cut(key, "/")
			return tenant
		},
		GroupPolicy: func(tenant string) shardq.GroupPolicy {
			if tenant == "acme" && upgraded.Load() {
				return shardq.GroupPolicy{Limit: 3}
			}
			return shardq.GroupPolicy{Limit: 1}
		},
	})
	handOut := func() {
		for claim, ok := queue.TryClaim(); ok; claim, ok = queue.TryClaim() {
			fmt.Println(claim.Item, "is in flight")
		}
	}
	queue.AddBatch([]string{"acme/1", "acme/2", "acme/3", "acme/4", "other/1", "other/2"}, shardq.AddOptions{})
	handOut()
	fmt.Println("acme takes the large plan")
	upgraded.Store(true)
	queue.RefreshGroup("acme")
	handOut()
	// Output:
	// acme/1 is in flight
	// other/1 is in flight
	// acme takes the large plan
	// acme/2 is in flight
	// acme/3 is in flight
}
