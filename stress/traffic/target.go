package traffic

import (
	"context"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

type (
	addOptions = shardq.AddOptions
	claim      = worker.Claim[int]
)

// A target is the queue. A saboteur replaces some of its functions.
type target struct {
	*shardq.Queue[int]
	Add, Done, Forget func(key int)
	AddAfter          func(key int, delay time.Duration)
	AddBatch          func(keys []int, o addOptions)
	Get               func() (key int, shutdown bool)
	Drain             func(ctx context.Context, o shardq.DrainOptions) ([]int, error)
	WaitIdle          func(ctx context.Context) error

	Resume, ShutDown, ShutDownWithDrain func()
}

func newTarget(q *shardq.Queue[int]) *target {
	return &target{
		Queue: q, Add: q.Add, Done: q.Done, Forget: q.Forget, AddAfter: q.AddAfter, AddBatch: q.AddBatch, Get: q.Get,
		Drain: q.Drain, WaitIdle: q.WaitIdle,
		Resume: q.Resume, ShutDown: q.ShutDown, ShutDownWithDrain: q.ShutDownWithDrain,
	}
}

// A countedSource is a queue that counts the claims of a pool, whose calls
// handlers do not see.
type countedSource struct {
	*shardq.Queue[int]
	round *round
}

func (s countedSource) ClaimBatch(ctx context.Context, dst []claim) (int, error) {
	n, err := s.Queue.ClaimBatch(ctx, dst)
	if n > 0 {
		a := s.round.borrow()
		defer s.round.idle.Put(a)
		a.gets.Add(uint64(n))
		for _, c := range dst[:n] {
			s.round.ledger.Fence(c.Item, c.Fence())
		}
	}
	return n, err
}
