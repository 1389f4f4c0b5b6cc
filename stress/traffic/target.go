package traffic

import (
	"context"
	"errors"
	"iter"
	"time"

	"golang.org/x/time/rate"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/stress/ledger"
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
	AddWith           func(key int, o addOptions)
	TryAdd            func(key int, o addOptions) error
	AddContext        func(ctx context.Context, key int, o addOptions) error
	AddBatch          func(keys []int, o addOptions)
	Get               func() (key int, shutdown bool)
	Cancel            func(key int) shardq.Canceled
	Lookup            func(key int) (stats.Item[int], bool)
	All               func(state stats.State) iter.Seq[stats.Item[int]]
	Drain             func(ctx context.Context, o shardq.DrainOptions) ([]int, error)
	WaitIdle          func(ctx context.Context) error
	SetRate           func(r shardq.Rate)

	Pause, Resume, ShutDown, ShutDownWithDrain func()
}

func newTarget(q *shardq.Queue[int]) *target {
	return &target{
		Queue: q, Add: q.Add, Done: q.Done, Forget: q.Forget, AddAfter: q.AddAfter, AddWith: q.AddWith,
		TryAdd: q.TryAdd, AddContext: q.AddContext, AddBatch: q.AddBatch, Get: q.Get,
		Cancel: q.Cancel, Lookup: q.Lookup, All: q.All, Drain: q.Drain, WaitIdle: q.WaitIdle, SetRate: q.SetRate,
		Pause: q.Pause, Resume: q.Resume, ShutDown: q.ShutDown, ShutDownWithDrain: q.ShutDownWithDrain,
	}
}

// A stampedSource is a queue that stamps the claims of a pool, whose calls
// handlers do not see.
type stampedSource struct {
	*shardq.Queue[int]
	round *round
}

func (s stampedSource) ClaimBatch(ctx context.Context, dst []claim) (int, error) {
	var sight ledger.Sight
	s.round.ledger.Look(&sight)
	n, err := s.Queue.ClaimBatch(ctx, dst)
	if n > 0 {
		s.round.stamp(dst[:n], &sight)
	}
	return n, err
}

func newQueue(r *round, s saboteur) *target {
	p := &r.plan
	o := shardq.Options[int]{
		Name: "stress", Shards: p.shards, RateLimiter: r.newLimiter(), Tick: p.tick, Capacity: p.capacity,
		LowPriorityInterval: p.interval, Ages: p.Seed%3 == 0, Metrics: p.Seed%4 == 0, OnMisuse: r.onMisuse,
	}
	if r.fake != nil {
		o.Clock = r.fake
	}
	if p.capacity > 0 {
		o.Watermarks = shardq.Watermarks{High: p.capacity/2 + 1, Low: p.capacity / 4, On: r.onWatermark}
	}
	if p.Seed%5 == 0 {
		o.OnStuck, o.StuckAfter = func(stats.Item[int]) { r.queue.Len() }, time.Millisecond
	}
	switch {
	case p.groups > 0:
		o.Group = func(key int) string { panicIfHostile(key); return groupName(p.groupOf(key)) }
		o.GroupPolicy = r.groupPolicy
	case p.hashed:
		o.Hash = func(key int) uint64 { panicIfHostile(key); return uint64(max(key, 0)/4%lines) * 0x9e3779b97f4a7c15 }
	case p.Seed%2 == 0:
		o.StableRouting = true
	}
	if s.options != nil {
		s.options(&o)
	}
	q := newTarget(shardq.MustNew(o))
	if s.queue != nil {
		s.queue(q)
	}
	return q
}

func (r *round) groupPolicy(name string) shardq.GroupPolicy {
	group := groupNumber(name)
	return shardq.GroupPolicy{
		Weight: r.plan.weightOf(group), Limit: int(r.gates.limits[group].Load()), Rate: *r.gates.rates[group].Load(),
	}
}

func groupName(group int) string { return "012345678"[group : group+1] }

func groupNumber(name string) int { return int(name[0] - '0') }

// Keys below 0 are not in the ledger.
const (
	hostile   = -1 // its hash and its group panic, and so does the limiter
	stray     = -2 // nobody adds it
	sleeper   = -100
	sleepers  = 10
	contested = -1000 // and below: see contest
)

var errHostile = errors.New("user code panics on purpose")

func panicIfHostile(key int) {
	if key == hostile {
		panic(errHostile)
	}
}

const (
	backoff     = time.Millisecond
	backoffMost = 4 * time.Millisecond
)

type hostileLimiter struct{ limiter.Limiter[int] }

func (l hostileLimiter) When(key int) time.Duration {
	panicIfHostile(key)
	return l.Limiter.When(key)
}

func (r *round) newLimiter() limiter.Limiter[int] {
	exponential := limiter.NewExponential[int](backoff, backoffMost)
	bucket := limiter.NewBucket[int](rate.NewLimiter(50_000, 1000), limiter.Options{Clock: r.clock()})
	return hostileLimiter{[]limiter.Limiter[int]{
		exponential, limiter.NewFastSlow[int](backoff, backoffMost, 2), limiter.NewMaxOf(exponential, bucket),
	}[r.plan.limiter]}
}

func (p *Plan) leastBackoff(failures int32) time.Duration {
	if p.limiter == 1 {
		failures = failures / 2 * 2 // the second is as fast as the first
	}
	return min(backoff<<min(failures, 8), backoffMost)
}
