package traces

import (
	"context"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// getBatch takes up to len(dst) items by claims that it drops, so that Done
// ends their processing.
func getBatch[T comparable](q *shardq.Queue[T], ctx context.Context, dst []T) (n int, err error) {
	claims := make([]worker.Claim[T], len(dst))
	n, err = q.ClaimBatch(ctx, claims)
	for i := range n {
		dst[i] = claims[i].Item
	}
	return n, err
}

// doneBatch is Done of each of the items.
func doneBatch[T comparable](q *shardq.Queue[T], items []T) {
	for _, item := range items {
		q.Done(item)
	}
}
