package worker_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/worker"
)

// A handler asks what is known of its item: here, to answer late items from a
// cache.
func ExampleAttemptOf() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: it moves on command
	queue := shardq.MustNew(shardq.Options[string]{
		Name:  "reports",
		Clock: fake,
		Ages:  true, // for Waited
		Group: func(report string) string {
			tenant, _, _ := strings.Cut(report, "/")
			return tenant
		},
	})
	workers, err := worker.New(queue, worker.Options[string]{
		Workers:  1,
		Attempts: true, // not needed with Use
		Handle: func(ctx context.Context, report string) error {
			a, _ := worker.AttemptOf[string](ctx)
			fmt.Println(a.Queue(), report, "of", a.Group())
			fmt.Println("attempt", a.Number(), "priority", a.Priority())
			fmt.Println("from the cache:", a.Waited() > time.Second)
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	queue.AddWith("acme/7", shardq.AddOptions{Priority: 5})
	fake.Step(3 * time.Second)
	queue.ShutDown() // for this example: ready items are still handed out
	fmt.Println(workers.Run(context.Background()))
	// Output:
	// reports acme/7 of acme
	// attempt 1 priority 5
	// from the cache: true
	// <nil>
}

// An import asks after each file whether to go on. It starts over if its item
// was added again, and ends if the item was canceled.
func ExampleClaim_AddedAgain() {
	queue := shardq.MustNew(shardq.Options[string]{})
	others := []func(){ // for this example: what happens during the runs
		func() { queue.Add("acme") },
		func() { queue.Cancel("acme"); queue.ShutDown() },
	}
	run := 0
	importAll := func(ctx context.Context, customer string) error {
		a, _ := worker.AttemptOf[string](ctx)
		run++
		for file := range 100 {
			if file == 3 {
				others[run-1]()
			}
			switch {
			case a.Claim.Canceled():
				fmt.Println(customer, "is canceled before file", file)
				return nil
			case a.Claim.AddedAgain():
				fmt.Println(customer, "starts over before file", file)
				return nil // it runs again because of that add
			}
		}
		return nil
	}
	workers, err := worker.New(queue, worker.Options[string]{Workers: 1, Handle: importAll, Attempts: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	queue.Add("acme")
	fmt.Println(workers.Run(context.Background()))
	// Output:
	// acme starts over before file 3
	// acme is canceled before file 3
	// <nil>
}
