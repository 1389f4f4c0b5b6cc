// TODO package doc
package shardq

import (
	"fmt"
	"time"

	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/shard"
)

// A Queue is a work queue of items of type T. All its methods are safe for
// concurrent use. It must be made by [New] or [Must], and must not be copied.
type Queue[T comparable] struct {
	name    string
	shards  *shard.Set[T]
	limiter limiter.Limiter[T]
}

// New returns a queue, or an error that lists every fault of the options.
// It starts no goroutine; a queue that is no longer referred to needs no
// ShutDown to be collected, unless items wait in it for their delay.
func New[T comparable](options Options[T]) (*Queue[T], error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	options = options.withDefaults()
	return &Queue[T]{
		name:    options.Name,
		limiter: options.RateLimiter,
		shards: shard.New(shard.Config[T]{
			Shards:           options.Shards,
			Clock:            options.Clock,
			Tick:             options.Tick,
			Route:            options.route(),
			CancelDelayOnAdd: options.CancelDelayOnAdd,
			OnMisuse:         options.misuseHook(),
		}),
	}, nil
}

// Must is like [New] but panics if the options have a fault. It suits queues
// whose options are fixed in the source.
func Must[T comparable](options Options[T]) *Queue[T] {
	q, err := New(options)
	if err != nil {
		panic(fmt.Sprintf("%v", err))
	}
	return q
}

func (q *Queue[T]) Name() string                            { return q.name }
func (q *Queue[T]) Add(item T)                              { q.shards.Add(item) }
func (q *Queue[T]) Get() (item T, shutdown bool)            { return q.shards.Get() }
func (q *Queue[T]) Done(item T)                             { q.shards.Done(item) }
func (q *Queue[T]) Len() int                                { return q.shards.Len() }
func (q *Queue[T]) ShutDown()                               { q.shards.ShutDown() }
func (q *Queue[T]) ShutDownWithDrain()                      { q.shards.ShutDownWithDrain() }
func (q *Queue[T]) ShuttingDown() bool                      { return q.shards.ShuttingDown() }
func (q *Queue[T]) AddAfter(item T, duration time.Duration) { q.shards.AddAfter(item, duration) }
func (q *Queue[T]) AddRateLimited(item T)                   { q.AddAfter(item, q.limiter.When(item)) }
func (q *Queue[T]) Forget(item T)                           { q.limiter.Forget(item) }
func (q *Queue[T]) NumRequeues(item T) int                  { return q.limiter.NumRequeues(item) }

// Stats is a reading of a queue's counters.
type Stats = shard.Stats

// Stats returns a reading of the counters.
func (q *Queue[T]) Stats() Stats { return q.shards.Stats() }
