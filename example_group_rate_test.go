package shardq_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
)

// A tenant's service allows ten calls a second, and then asks for a pause of
// half a minute. Other tenants do not wait.
func ExampleQueue_PauseGroup() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: it moves on command
	queue := shardq.MustNew(shardq.Options[string]{
		Clock: fake,
		Group: func(key string) string {
			tenant, _, _ := strings.Cut(key, "/")
			return tenant
		},
		GroupPolicy: func(tenant string) shardq.GroupPolicy {
			return shardq.GroupPolicy{Rate: shardq.Rate{PerSecond: 10, Burst: 2}}
		},
	})
	handOut := func() {
		for claim, ok := queue.TryClaim(); ok; claim, ok = queue.TryClaim() {
			fmt.Println(fake.Now().Sub(time.Unix(0, 0)), claim.Item)
			claim.Done()
		}
	}
	for i := range 6 {
		queue.Add(fmt.Sprintf("acme/%d", i))
	}
	handOut()
	fake.Step(100 * time.Millisecond)
	handOut()

	// The service has answered 429, with Retry-After: 30.
	queue.PauseGroup("acme", fake.Now().Add(30*time.Second))
	queue.Add("other/1")
	fake.Step(time.Second)
	handOut()
	for group := range queue.Groups() {
		fmt.Println(group.Group, "is throttled by its", group.Reason)
	}
	fake.Step(29 * time.Second)
	handOut()
	// Output:
	// 0s acme/0
	// 0s acme/1
	// 100ms acme/2
	// 1.1s other/1
	// acme is throttled by its pause
	// 30.1s acme/3
	// 30.1s acme/4
}
