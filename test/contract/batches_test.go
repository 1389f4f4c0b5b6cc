package contract

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

// doneBatch is Done of each of the items, all of them, even if some panic.
func doneBatch[T comparable](q *shardq.Queue[T], items []T) {
	if len(items) > 0 {
		defer doneBatch(q, items[1:])
		q.Done(items[0])
	}
}

// getWithPriority is Get that also returns the item's priority.
func getWithPriority[T comparable](q *shardq.Queue[T]) (item T, priority int, shutdown bool) {
	claim, err := q.Claim(context.Background())
	return claim.Item, claim.Priority, err != nil
}
