package shardq_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/worker"
)

// Tenants take turns, and each may have two items in flight. One whose service
// answers 429 is paused, and the others go on.
func ExampleQueue_PauseGroup() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: it moves on command
	queue := shardq.MustNew(shardq.Options[string]{
		Shards: 1, Clock: fake,
		Group: func(key string) string {
			tenant, _, _ := strings.Cut(key, "/")
			return tenant
		},
		GroupPolicy: func(tenant string) shardq.GroupPolicy {
			return shardq.GroupPolicy{Limit: 2, Rate: shardq.Rate{PerSecond: 10, Burst: 5}}
		},
	})
	handOut := func() (claims []worker.Claim[string]) {
		for claim, ok := queue.TryClaim(); ok; claim, ok = queue.TryClaim() {
			fmt.Println(fake.Now().Sub(time.Unix(0, 0)), claim.Item)
			claims = append(claims, claim)
		}
		return claims
	}
	queue.AddBatch([]string{"acme/1", "acme/2", "acme/3", "other/1"}, shardq.AddOptions{})
	claims := handOut()
	for group := range queue.Groups() {
		if group.Throttled {
			fmt.Println(group.Group, "is held back by its", group.Reason)
		}
	}

	// The service of acme answers 429 with Retry-After: 30.
	queue.PauseGroup("acme", fake.Now().Add(30*time.Second))
	for _, claim := range claims {
		_ = claim.Done()
	}
	queue.Add("other/2")
	handOut()
	fake.Step(30 * time.Second)
	handOut()
	// Output:
	// 0s acme/1
	// 0s other/1
	// 0s acme/2
	// acme is held back by its limit
	// 0s other/2
	// 30s acme/3
}
