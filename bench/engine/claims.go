package engine

import (
	"context"

	"github.com/shardq/shardq"
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

// TurnBatch implements [workload.TurnQueue].
func (q WithClaims[T]) TurnBatch(ctx context.Context, dst []T) (n int, err error) {
	var claims [64]shardq.Claim[T]
	n, err = q.ClaimBatch(ctx, claims[:min(len(dst), len(claims))])
	for i := range n {
		dst[i] = claims[i].Item
	}
	_ = q.DoneClaims(claims[:n])
	return n, err
}
