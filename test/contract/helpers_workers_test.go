package contract

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/worker"
)

// runPool runs a pool of one worker, or more with Workers, until it ends.
func runPool[T any](ctx context.Context, t *testing.T, source worker.Source[T], o worker.Options[T]) error {
	o.Workers = max(1, o.Workers)
	pool, err := worker.New(source, o)
	require.NoError(t, err)
	return pool.Run(ctx)
}

// recovered returns the value with which do panics.
func recovered(do func()) (fault any) {
	defer func() { fault = recover() }()
	do()
	return nil
}
