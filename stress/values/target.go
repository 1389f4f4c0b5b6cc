package values

import (
	"context"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/worker"
)

// coalescer has the methods of a Coalescer that a round uses.
type coalescer interface {
	Put(key int, v value) error
	TryPut(key int, v value) error
	PutWith(key int, v value, o coalesce.PutOptions) error
	PutContext(ctx context.Context, key int, v value) error
	TakeBatch(ctx context.Context, dst []pair) (int, error)
	Take(ctx context.Context) (int, value, error)
	Done(key int)
	DoneBatch(taken []pair)
	PutBack(key int, v value) error
	Retry(key int, v value) error
	Cancel(key int) (value, bool)
	Pause()
	Resume()
	ShutDown()
	Drain(ctx context.Context, options shardq.DrainOptions) ([]pair, error)
	DrainWith(options shardq.DrainOptions) func(context.Context) ([]pair, error)
	Stats() shardq.Stats
	NewPool(o worker.Options[pair]) (*worker.Pool[pair], error)
}

type withPool struct {
	*coalesce.Coalescer[int, value]
}

func (c withPool) NewPool(o worker.Options[pair]) (*worker.Pool[pair], error) {
	return worker.New(c.Coalescer, o)
}

func newCoalescer(o coalesce.Options[int, value]) target {
	return withPool{coalesce.MustNew(o)}
}
