package shardqtest

import (
	"context"
	"errors"
	"sync/atomic"

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
	n, err := c.queue.ClaimBatch(&noWait{Context: ctx}, dst[:min(c.most, len(dst))])
	if errors.Is(err, errNoWait) {
		return 0, worker.ErrShutDown
	}
	c.onTake(dst[:n])
	return n, err
}

// A noWait is a context that has ended once its Done was asked for. A source
// asks for it when it is about to wait. So a ClaimBatch with a noWait takes
// what is ready, and otherwise returns errNoWait.
//
// A check before the ClaimBatch could not do that, because another consumer may
// take the item in between.
type noWait struct {
	context.Context
	ended atomic.Bool
}

var errNoWait = errors.New("shardqtest: nothing is ready")

// alreadyClosed is the Done of each noWait.
var alreadyClosed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Done implements [context.Context].
func (c *noWait) Done() <-chan struct{} {
	c.ended.Store(true)
	return alreadyClosed
}

// Err implements [context.Context].
func (c *noWait) Err() error {
	if err := c.Context.Err(); err != nil || !c.ended.Load() {
		return err
	}
	return errNoWait
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
