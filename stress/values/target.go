package values

import (
	"context"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/worker"
)

// A target is the Coalescer. A saboteur replaces some of its functions.
type target struct {
	*coalesce.Coalescer[int, value]
	Put, TryPut, PutBack func(key int, v value) error
	PutWith              func(key int, v value, o coalesce.PutOptions) error
	Take                 func(ctx context.Context) (int, value, error)
	Cancel               func(key int) (value, bool)
	Drain                func(ctx context.Context, o shardq.DrainOptions) ([]pair, error)
	onDiscard            func(context.Context, worker.Failure[pair])
}

func newTarget(c *coalesce.Coalescer[int, value], r *round) *target {
	return &target{
		Coalescer: c, Put: c.Put, TryPut: c.TryPut, PutBack: c.PutBack, PutWith: c.PutWith,
		Take: c.Take, Cancel: c.Cancel, Drain: c.Drain, onDiscard: r.discard,
	}
}
