package shardqtest

import (
	"context"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/worker"
)

// A call is the source of a pool that calls the handler once. It hands out what
// one ClaimBatch of the queue returns, and then says that the queue has ended,
// so that the pool's worker leaves when it has settled the items.
type call[T any] struct {
	// most is the greatest number of items.
	most   int
	made   bool
	queue  worker.Source[T]
	onTake func(claims []worker.Claim[T])
}

func (c *call[T]) claim(ctx context.Context, dst []worker.Claim[T]) (int, error) {
	if c.made {
		return 0, worker.ErrShutDown
	}
	c.made = true
	n, err := c.queue.ClaimBatch(ctx, dst[:min(c.most, len(dst))])
	c.onTake(dst[:n])
	return n, err
}

// A queueCall is the call of a queue. It embeds the queue for the other methods
// that a pool looks for.
type queueCall[T comparable] struct {
	*shardq.Queue[T]
	*call[T]
}

// ClaimBatch implements [worker.Source].
func (c queueCall[T]) ClaimBatch(ctx context.Context, dst []worker.Claim[T]) (int, error) {
	return c.claim(ctx, dst)
}

// A coalescerCall is the call of a coalescer.
type coalescerCall[K comparable, V any] struct {
	*coalesce.Coalescer[K, V]
	*call[coalesce.Entry[K, V]]
}

// ClaimBatch implements [worker.Source].
func (c coalescerCall[K, V]) ClaimBatch(ctx context.Context, dst []worker.Claim[coalesce.Entry[K, V]]) (int, error) {
	return c.claim(ctx, dst)
}
