package kubernetes_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"k8s.io/client-go/util/workqueue"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/limiter"
)

// A program with client-go's queue, before it comes to shardq.
func Example_before() {
	send := sender()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.DefaultTypedControllerRateLimiter[string](),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "invoices"},
	)
	context.AfterFunc(ctx, queue.ShutDown)
	queue.Add("invoice/17")
	for {
		key, shutdown := queue.Get()
		if shutdown {
			break
		}
		if err := send(key); err != nil {
			queue.AddRateLimited(key)
		} else {
			queue.Forget(key)
			stop() // for this example: Ctrl-C does the same
		}
		queue.Done(key)
	}
	// Output: sent: invoice/17
}

// The same program afterwards.
func Example_after() {
	send := sender()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	queue := shardq.MustNew(shardq.Options[string]{
		Name: "invoices", Metrics: true,
		RateLimiter: limiter.DefaultController[string](), // or none: backoff without the bucket
	})
	queue.Add("invoice/17")
	err := queue.Run(ctx, 1, func(ctx context.Context, key string) error {
		if err := send(key); err != nil {
			return err // the key runs again after its backoff
		}
		stop() // for this example: Ctrl-C does the same
		return nil
	})
	fmt.Println("end:", err)
	// Output:
	// sent: invoice/17
	// end: <nil>
}

// sender returns a function that fails at first.
func sender() func(key string) error {
	attempts := 0
	return func(key string) error {
		if attempts++; attempts < 3 {
			return errors.New("busy")
		}
		fmt.Println("sent:", key)
		return nil
	}
}
