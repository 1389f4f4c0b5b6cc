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

// A target is the queue, or a saboteur around it.
type target interface {
	Add(key int)
	AddAfter(key int, delay time.Duration)
	AddRateLimited(key int)
	AddWith(key int, o addOptions)
	TryAdd(key int, o addOptions) error
	AddContext(ctx context.Context, key int, o addOptions) error
	AddBatch(keys []int, o addOptions)
	Get() (key int, shutdown bool)
	GetContext(ctx context.Context) (int, error)
	Done(key int)
	Items(ctx context.Context) iter.Seq[int]
	Claim(ctx context.Context) (claim, error)
	TryClaim() (claim, bool)
	ClaimBatch(ctx context.Context, dst []claim) (int, error)
	DoneClaims(all []claim) error
	Cancel(key int) shardq.Canceled
	Forget(key int)
	NumRequeues(key int) int
	Pause()
	Resume()
	PauseGroup(group string, until time.Time)
	ResumeGroup(group string)
	RefreshGroup(group string)
	SetRate(r shardq.Rate)
	ShutDown()
	ShutDownWithDrain()
	ShuttingDown() bool
	Drain(ctx context.Context, o shardq.DrainOptions) ([]int, error)
	WaitIdle(ctx context.Context) error
	Len() int
	Stats() shardq.Stats
	Snapshot(limit int) shardq.Snapshot[int]
	All(state stats.State) iter.Seq[stats.Item[int]]
	Lookup(key int) (stats.Item[int], bool)
	Groups() iter.Seq[stats.Group]
	MostRetried(limit int) []limiter.Failed[int]
	RecentFailures(limit int) (failed, discarded []stats.Failure[int])
	// NewPool returns a pool whose claims are stamped.
	NewPool(o worker.Options[int], s stamper) (*worker.Pool[int], error)
}

// queue is the queue as a target.
type queue struct{ *shardq.Queue[int] }

func (q queue) TryAdd(key int, o addOptions) error { return q.TryAddWith(key, o) }
func (q queue) AddBatch(keys []int, o addOptions)  { q.AddBatchWith(keys, o) }
func (q queue) AddContext(ctx context.Context, key int, o addOptions) error {
	return q.AddContextWith(ctx, key, o)
}

func (q queue) NewPool(o worker.Options[int], s stamper) (*worker.Pool[int], error) {
	return worker.New(stampedSource{q.Queue, s}, o)
}

// A stamper is told of the claims of a pool: before and after each ClaimBatch.
type stamper interface {
	before() *ledger.Sight
	after(claimed []claim, s *ledger.Sight)
}

// A stampedSource is a queue that tells a stamper.
type stampedSource struct {
	*shardq.Queue[int]
	stamper stamper
}

func (s stampedSource) ClaimBatch(ctx context.Context, dst []claim) (int, error) {
	sight := s.stamper.before()
	n, err := s.Queue.ClaimBatch(ctx, dst)
	s.stamper.after(dst[:n], sight)
	return n, err
}

// newQueue makes the queue of a round.
func newQueue(r *round, s saboteur) target {
	p := &r.plan
	o := shardq.Options[int]{
		Name: "stress", Shards: p.shards, RateLimiter: r.newLimiter(), Tick: p.tick, Capacity: p.capacity,
		LowPriorityInterval: p.interval, Ages: p.Seed%3 == 0, Metrics: p.Seed%4 == 0, OnMisuse: r.onMisuse,
	}
	if r.fake != nil {
		o.Clock = r.fake
	}
	if p.capacity > 0 {
		o.HighWatermark, o.LowWatermark, o.OnWatermark = p.capacity/2+1, p.capacity/4, r.onWatermark
	}
	if p.Seed%5 == 0 {
		o.OnStuck, o.StuckAfter = func(stats.Item[int]) { r.stuck.Add(1) }, time.Millisecond
	}
	switch {
	case p.groups > 0:
		o.Group = func(key int) string { panicIfHostile(key); return groupName(p.groupOf(key)) }
		o.GroupWeight = func(group string) int { return p.weightOf(groupNumber(group)) }
		o.GroupLimitOf = func(group string) int { return r.limits.now(groupNumber(group)) }
		o.GroupRate = func(group string) shardq.Rate { return r.gates.rateNow(groupNumber(group)) }
	case p.hashed:
		o.Hash = func(key int) uint64 { panicIfHostile(key); return uint64(max(key, 0)/4%lines) * 0x9e3779b97f4a7c15 }
	case p.Seed%2 == 0:
		o.StableRouting = true
	}
	if s.options != nil {
		s.options(&o)
	}
	q := target(queue{shardq.MustNew(o)})
	if s.wrap != nil {
		q = s.wrap(q)
	}
	return q
}

// groupName returns the name of a group, which is a digit.
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

// errHostile is the value of a panic of user code.
var errHostile = errors.New("user code panics on purpose")

func panicIfHostile(key int) {
	if key == hostile {
		panic(errHostile)
	}
}

// Backoffs of the limiters.
const (
	backoff     = time.Millisecond
	backoffMost = 4 * time.Millisecond
)

// hostileLimiter panics for the hostile key.
type hostileLimiter struct{ limiter.Limiter[int] }

func (l hostileLimiter) When(key int) time.Duration {
	panicIfHostile(key)
	return l.Limiter.When(key)
}

func (r *round) newLimiter() limiter.Limiter[int] {
	exponential := limiter.NewExponential[int](backoff, backoffMost)
	var l limiter.Limiter[int]
	switch r.plan.limiter {
	case 0:
		l = exponential
	case 1:
		l = limiter.NewFastSlow[int](backoff, backoffMost, 2)
	default:
		l = limiter.NewMaxOf(exponential, limiter.NewBucket[int](rate.NewLimiter(50_000, 1000), limiter.Options{Clock: r.clock()}))
	}
	return hostileLimiter{l}
}

// leastBackoff returns the least delay after so many failures.
func (p *Plan) leastBackoff(failures int32) time.Duration {
	if p.limiter == 1 {
		if failures < 2 {
			return backoff
		}
		return backoffMost
	}
	return min(backoff<<min(failures, 8), backoffMost)
}
