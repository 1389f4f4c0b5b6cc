package workqueue

import (
	"context"

	"k8s.io/client-go/util/workqueue"
)

type (
	// DoWorkPieceFunc is client-go's.
	DoWorkPieceFunc = workqueue.DoWorkPieceFunc
	// Options is client-go's: an option of [ParallelizeUntil].
	Options = workqueue.Options
)

// WithChunkSize is client-go's.
func WithChunkSize(pieces int) Options { return workqueue.WithChunkSize(pieces) }

// ParallelizeUntil is client-go's.
func ParallelizeUntil(ctx context.Context, workers, pieces int, do DoWorkPieceFunc, options ...Options) {
	workqueue.ParallelizeUntil(ctx, workers, pieces, do, options...)
}
