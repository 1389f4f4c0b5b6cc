package engine

import (
	"context"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// WithBatches is a queue with the methods of [workload.BatchQueue].
type WithBatches[T comparable] struct{ *shardq.Queue[T] }

// AddBatch implements [workload.BatchQueue].
func (q WithBatches[T]) AddBatch(items []T) { q.Queue.AddBatch(items, shardq.AddOptions{}) }

// AddBatchAfter implements [workload.DelayingBatchQueue].
func (q WithBatches[T]) AddBatchAfter(items []T, delay time.Duration) {
	q.Queue.AddBatch(items, shardq.AddOptions{After: delay})
}

// GetBatch implements [workload.BatchQueue], by claims that are dropped.
func (q WithBatches[T]) GetBatch(ctx context.Context, dst []T) (n int, err error) {
	var claims [64]worker.Claim[T]
	n, err = q.ClaimBatch(ctx, claims[:min(len(dst), len(claims))])
	for i := range n {
		dst[i] = claims[i].Item
	}
	return n, err
}

// DoneBatch implements [workload.BatchQueue].
func (q WithBatches[T]) DoneBatch(items []T) {
	for _, item := range items {
		q.Done(item)
	}
}

// WithClaims is a queue whose consumers take and end items by claims.
type WithClaims[T comparable] struct{ WithBatches[T] }

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
