package harness

import (
	"context"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// A stampedSource is the queue that a pool takes from. It stamps the calls of
// ClaimBatch, which are invisible to handlers. So the ledger checks pauses and
// rates for the claims of a pool as it does for Gets.
type stampedSource[T comparable] struct {
	*shardq.Queue[T] // a pool uses more methods than those of a Source
	claim            claimBatch[T]
	claimed          func(item T, called int64)
}

type claimBatch[T comparable] func(context.Context, []worker.Claim[T]) (n int, err error)

func (s *stampedSource[T]) ClaimBatch(
	ctx context.Context, dst []worker.Claim[T],
) (n int, err error) {
	called := now()
	n, err = s.claim(ctx, dst)
	for i := range dst[:n] {
		s.claimed(dst[i].Item, called)
	}
	return n, err
}

// claimed is called after a ClaimBatch, for each key.
func (c *workerPool) claimed(key int, called int64) {
	if c.ledger != nil && key >= 0 && key < len(c.calls) {
		c.calls[key].Store(called)
	}
}
