package worker_test

import (
	"context"
	"fmt"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// An item that changes while it is being processed is not processed to the end
// in a state that is obsolete.
func ExampleOptions_cancelIfAddedAgain() {
	queue := shardq.MustNew(shardq.Options[string]{})
	version := 1
	build := func(ctx context.Context, page string) error {
		if version == 1 {
			version = 2
			queue.Add(page) // for this example: a producer does that
			<-ctx.Done()
			fmt.Println(page, "version 1:", context.Cause(ctx))
			return ctx.Err() // no failure: the item is ready at once
		}
		fmt.Println(page, "version 2 is built, failures:", queue.NumRequeues(page))
		queue.ShutDown() // for this example: the worker leaves
		return nil
	}
	workers, err := worker.New(queue, worker.Options[string]{
		Workers: 1, Handle: build, CancelIfAddedAgain: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	queue.Add("page/7")
	fmt.Println(workers.Run(context.Background()))
	// Output:
	// page/7 version 1: worker: the item was added again
	// page/7 version 2 is built, failures: 0
	// <nil>
}

// A user cancels an export that runs. Its context ends, and it does not run
// again.
func ExampleOptions_cancelIfCanceled() {
	queue := shardq.MustNew(shardq.Options[string]{})
	export := func(ctx context.Context, name string) error {
		queue.Cancel(name) // for this example: a user does that
		<-ctx.Done()
		fmt.Println(name, "ends:", context.Cause(ctx))
		queue.ShutDown() // for this example: the worker leaves
		return ctx.Err() // no failure
	}
	workers, err := worker.New(queue, worker.Options[string]{
		Workers: 1, Handle: export, CancelIfCanceled: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	queue.Add("export/7")
	fmt.Println(workers.Run(context.Background()))
	fmt.Println("held:", queue.Stats().Held, "failures:", queue.NumRequeues("export/7"))
	// Output:
	// export/7 ends: worker: the item was canceled
	// <nil>
	// held: 0 failures: 0
}
