// Package worker is a controller without controller-runtime, as in
// sample-controller.
package worker

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

// A Controller has a queue of names.
type Controller struct {
	queue workqueue.TypedRateLimitingInterface[types.NamespacedName]
}

// New returns a Controller.
func New() *Controller {
	limiter := workqueue.NewTypedMaxOfRateLimiter(
		workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](5, 1000),
		workqueue.DefaultTypedItemBasedRateLimiter[types.NamespacedName](),
	)
	return &Controller{queue: workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
		workqueue.TypedRateLimitingQueueConfig[types.NamespacedName]{Name: "memos"})}
}

// Run calls sync for each name until the queue is shut down.
func (c *Controller) Run(ctx context.Context, sync func(context.Context, types.NamespacedName) error) {
	for {
		name, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		if err := sync(ctx, name); err != nil {
			c.queue.AddRateLimited(name)
		} else {
			c.queue.Forget(name)
		}
		c.queue.Done(name)
	}
}
