package worker_test

import (
	"context"
	"fmt"
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
