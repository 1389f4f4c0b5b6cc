package engine

import (
	"context"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// WithClaims is a queue whose consumers take and end items by claims.
type WithClaims[T comparable] struct{ *shardq.Queue[T] }

// Turn implements [workload.TurnQueue].
func (q WithClaims[T]) Turn() (item T, shutdown bool) {
	claim, err := q.Claim(context.Background())
	if err != nil {
		return item, true
	}
	_ = claim.Done()
	return claim.Item, false
}

// Batches implements [workload.TurnQueue]. The returned function keeps its
// buffer.
func (q WithClaims[T]) Batches() func(ctx context.Context, dst []T) (n int, err error) {
	claims := make([]worker.Claim[T], 64)
	return func(ctx context.Context, dst []T) (n int, err error) {
		n, err = q.ClaimBatch(ctx, claims[:min(len(dst), len(claims))])
		for i := range n {
			dst[i] = claims[i].Item
		}
		_ = q.DoneClaims(claims[:n])
		return n, err
	}
}
