package worker_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
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
			waited, _ := a.Waited() // false without Ages
			fmt.Println("from the cache:", waited > time.Second)
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

// There is no option OnSuccess: a middleware knows the result of each attempt.
func Example_middleware() {
	onSuccess := func(next worker.Handler[string]) worker.Handler[string] {
		return func(ctx context.Context, mail string) error {
			err := next(ctx, mail)
			if err == nil {
				attempt, _ := worker.AttemptOf[string](ctx)
				fmt.Println("sent:", mail, "in attempt", attempt.Number())
			}
			return err
		}
	}
	queue := shardq.MustNew(shardq.Options[string]{Name: "mails", Shards: 1})
	workers, err := worker.New(queue, worker.Options[string]{
		Workers: 1, // for this example: a fixed order
		Handle: func(ctx context.Context, mail string) error {
			if mail == "nonsense" {
				return worker.Permanent(errors.New("no such address"))
			}
			return nil
		},
		Use:         []worker.Middleware[string]{onSuccess},
		Timeout:     30 * time.Second, // of each attempt
		MaxAttempts: 5,
		OnDiscard: func(_ context.Context, f worker.Failure[string]) {
			fmt.Println("dead letter:", f.Item, f.Err)
		},
	})
	if err != nil {
		log.Fatal(err) // it lists each fault of the options
	}
	queue.AddBatch([]string{"welcome", "nonsense"}, shardq.AddOptions{})
	queue.ShutDown() // for this example: ready items are still handed out
	fmt.Println(workers.Run(context.Background()))
	// Output:
	// sent: welcome in attempt 1
	// dead letter: nonsense no such address
	// <nil>
}

// Log writes a line for each attempt. Items may be private, so that only
// LogItems writes them.
func ExampleLog() {
	queue := shardq.MustNew(shardq.Options[string]{Name: "jobs", Shards: 1})
	queue.AddBatch([]string{"a", "b"}, shardq.AddOptions{})
	queue.ShutDown() // for this example: ready items are still handed out
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			switch a.Key {
			case slog.TimeKey, slog.LevelKey, "duration":
				return slog.Attr{} // for this example: lines are short, and the same each time
			}
			return a
		},
	}))
	log := worker.Log[string](worker.LogOptions{Logger: logger, LogItems: true})
	err := queue.Run(context.Background(), 1, func(_ context.Context, job string) error {
		if job == "b" {
			return worker.Permanent(errors.New("refused"))
		}
		return nil
	}, log)
	fmt.Println(err)
	// Output:
	// msg="worker: an attempt succeeded" queue=jobs attempt=1 item=a
	// msg="worker: an attempt failed" queue=jobs attempt=1 error=refused item=b
	// <nil>
}
