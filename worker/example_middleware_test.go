package worker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// Middleware wraps the handler. The first is the outermost.
func Example_middleware() {
	queue := shardq.MustNew(shardq.Options[string]{Name: "reports"})
	queue.Add("report/7")
	queue.ShutDown() // for this example: ready items are still handed out
	show := func(next worker.Handler[string]) worker.Handler[string] {
		return func(ctx context.Context, item string) error {
			attempt, _ := worker.AttemptOf[string](ctx)
			err := next(ctx, item)
			fmt.Println(attempt.Queue(), item, "attempt", attempt.Number(), err)
			return err
		}
	}
	limit := worker.TimeoutOf(func(string) time.Duration { return time.Minute })
	handle := func(context.Context, string) error { return nil }
	fmt.Println(queue.Run(context.Background(), 4, handle, show, limit))
	// Output:
	// reports report/7 attempt 1 <nil>
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

// A ping gets less time than other jobs. Options.Timeout limits all attempts,
// and the shorter time counts.
func ExampleTimeoutOf() {
	queue := shardq.MustNew(shardq.Options[string]{Shards: 1})
	queue.AddBatch([]string{"ping/a", "report/7"}, shardq.AddOptions{})
	queue.ShutDown() // for this example: ready items are still handed out
	limit := worker.TimeoutOf(func(job string) time.Duration {
		if strings.HasPrefix(job, "ping/") {
			return time.Millisecond
		}
		return 0 // no limit of its own
	})
	workers, err := worker.New(queue, worker.Options[string]{
		Workers: 1,
		Handle: func(ctx context.Context, job string) error {
			if job == "ping/a" { // no answer comes
				<-ctx.Done()
				return ctx.Err()
			}
			fmt.Println(job, "is done")
			return nil
		},
		Use:         []worker.Middleware[string]{limit},
		Timeout:     time.Minute,
		MaxAttempts: 1,
		OnDiscard: func(_ context.Context, f worker.Failure[string]) {
			fmt.Printf("%s: %v (%v)\n", f.Item, f.Err, f.Reason)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(workers.Run(context.Background()))
	// Output:
	// ping/a: context deadline exceeded (exhausted)
	// report/7 is done
	// <nil>
}
