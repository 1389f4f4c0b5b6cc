package engine

import (
	"context"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/workload"
)

// Claims returns the engine of shardq's queues whose consumers use claims.
func Claims[T comparable](shards int) workload.Engine[T] {
	return workload.Engine[T]{
		Name:   "claims",
		Shards: shards,
		New: func() workload.Queue[T] {
			return claims[T]{shardq.Must(shardq.Options[T]{Shards: shards})}
		},
	}
}

type claims[T comparable] struct{ *shardq.Queue[T] }

func (q claims[T]) Turn() (item T, shutdown bool) {
	claim, err := q.Claim(context.Background())
	if err != nil {
		return item, true
	}
	_ = claim.Done()
	return claim.Item, false
}

func (q claims[T]) TurnBatch(ctx context.Context, dst []T) (n int, err error) {
	var claims [64]shardq.Claim[T]
	n, err = q.ClaimBatch(ctx, claims[:min(len(dst), len(claims))])
	for i := range n {
		dst[i] = claims[i].Item
	}
	_ = q.DoneClaims(claims[:n])
	return n, err
}
