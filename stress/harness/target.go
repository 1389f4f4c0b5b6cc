package harness

import (
	"context"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// A Typed queue has the method set of client-go's rate limiting work queue.
type Typed[T comparable] interface {
	Add(T)
	Len() int
	Get() (T, bool)
	Done(T)
	ShutDown()
	ShutDownWithDrain()
	ShuttingDown() bool
	AddAfter(T, time.Duration)
	AddRateLimited(T)
	Forget(T)
	NumRequeues(T) int
}

// Contextual is a queue whose Get can be canceled.
type Contextual[T comparable] interface {
	GetContext(context.Context) (T, error)
}

// Counted is a queue with counters.
type Counted interface {
	Stats() shardq.Stats
}

// Settings describe a new queue. A target ignores settings for which it has no
// option: its [Features] say so.
type Settings[T comparable] struct {
	Shards           int
	Limiter          limiter.Limiter[T]
	Clock            clock.Clock
	Hash             func(T) uint64
	CancelDelayOnAdd bool
	KeepPlaces       bool
	OnMisuse         func()
	// Capacity and the fields below are set only for targets that have them:
	// for section I and later ones.
	Capacity                    int
	OnWatermark                 func(high bool)
	HighWatermark, LowWatermark int
	Ages                        bool
	OnStuck                     func(stats.Item[T])
	StuckAfter                  time.Duration
	LowPriorityInterval         int
	Group                       func(T) string
	GroupLimit                  int
	GroupWeight                 func(group string) int
	PrioritiesBeforeTurns       bool
	GroupRate                   func(group string) shardq.Rate
	Metrics                     bool
}

// Features describe a target beyond the method set, and limit what a plan may
// use.
type Features struct {
	// Shards reports whether the number of shards can be chosen. Otherwise
	// there is one.
	Shards bool
	// Clock reports whether time can be injected.
	Clock bool
	// Options reports whether there are a hash function, a misuse hook,
	// CancelDelayOnAdd and KeepPlaces.
	Options bool
	// CallersLimiter reports whether the caller of AddRateLimited calls the
	// limiter, so that its panic can be recovered.
	CallersLimiter bool
	// ExactLen reports whether Len counts only ready items, without dirty ones.
	ExactLen bool
	// Collected reports whether a dropped queue needs no ShutDown. Otherwise
	// rounds of small queues leave goroutines, and run only on request.
	Collected bool
	// Control reports whether the queue is [Controlled], with its options.
	Control bool
	// Workers reports whether worker.New accepts the queue.
	Workers bool
}

// A Target makes queues of one kind, for the types of items that plans use.
type Target struct {
	Name     string
	Features Features
	Ints     func(Settings[int]) Typed[int]
	Strings  func(Settings[string]) Typed[string]
	Pairs    func(Settings[Pair]) Typed[Pair]
	Anys     func(Settings[any]) Typed[any]
}

// Shardq is the target for queues of shardq.
func Shardq() Target {
	return Target{
		Name:     "shardq",
		Features: Features{Shards: true, Clock: true, Options: true, CallersLimiter: true, ExactLen: true, Collected: true, Control: true, Workers: true},
		Ints:     openShardq[int], Strings: openShardq[string], Pairs: openShardq[Pair], Anys: openShardq[any],
	}
}

func openShardq[T comparable](s Settings[T]) Typed[T] {
	options := shardq.Options[T]{
		Shards: s.Shards, RateLimiter: s.Limiter, Clock: s.Clock, Hash: s.Hash,
		Capacity: s.Capacity, Watermarks: shardq.Watermarks{High: s.HighWatermark, Low: s.LowWatermark},
		Ages: s.Ages, OnStuck: s.OnStuck, StuckAfter: s.StuckAfter, LowPriorityInterval: s.LowPriorityInterval,
		Group: s.Group, Metrics: s.Metrics,
	}
	if s.Group != nil {
		options.GroupPolicy = func(group string) (p shardq.GroupPolicy) {
			p.Limit = s.GroupLimit
			if s.GroupWeight != nil {
				p.Weight = s.GroupWeight(group)
			}
			if s.GroupRate != nil {
				p.Rate = s.GroupRate(group)
			}
			return p
		}
	}
	if s.OnWatermark != nil {
		options.Watermarks.On = func(w shardq.Watermark) { s.OnWatermark(w.High) }
	}
	if s.OnMisuse != nil {
		options.OnMisuse = func(shardq.Misuse[T]) { s.OnMisuse() }
	}
	rules := shard.Rules{CancelDelayOnAdd: s.CancelDelayOnAdd, KeepPlaces: s.KeepPlaces, PrioritiesBeforeTurns: s.PrioritiesBeforeTurns}
	return controlled[T]{engine.Follow(shardq.MustNew(options), rules)}
}

// A controlled queue has the methods of a [Controlled] queue.
type controlled[T comparable] struct{ *shardq.Queue[T] }

func (q controlled[T]) AddBatch(items []T)  { q.Queue.AddBatch(items, shardq.AddOptions{}) }
func (q controlled[T]) TryAdd(item T) error { return q.Queue.TryAdd(item, shardq.AddOptions{}) }
func (q controlled[T]) AddContext(ctx context.Context, item T) error {
	return q.Queue.AddContext(ctx, item, shardq.AddOptions{})
}
func (q controlled[T]) TryAddWith(item T, o shardq.AddOptions) error { return q.Queue.TryAdd(item, o) }
func (q controlled[T]) AddBatchWith(items []T, o shardq.AddOptions)  { q.Queue.AddBatch(items, o) }
func (q controlled[T]) AddContextWith(ctx context.Context, item T, o shardq.AddOptions) error {
	return q.Queue.AddContext(ctx, item, o)
}
func (q controlled[T]) GetWithPriority() (item T, priority int, shutdown bool) {
	claim, err := q.Claim(context.Background())
	return claim.Item, claim.Priority, err != nil
}
func (q controlled[T]) GetBatch(ctx context.Context, dst []T) (n int, err error) {
	claims := make([]worker.Claim[T], len(dst))
	n, err = q.ClaimBatch(ctx, claims)
	for i := range n {
		dst[i] = claims[i].Item
	}
	return n, err
}
func (q controlled[T]) DoneBatch(items []T) {
	for _, item := range items {
		q.Done(item)
	}
}
