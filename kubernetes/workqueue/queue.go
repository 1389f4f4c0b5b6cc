// Package workqueue has the constructors and the types of client-go's package
// of the same name, for shardq queues. To change over, replace the import:
//
//   - "k8s.io/client-go/util/workqueue"
//   - "github.com/shardq/shardq/kubernetes/workqueue"
//
// All of client-go's names are here, with its signatures and types.
// A queue has one shard and client-go's order, and with a name client-go's seven
// metrics. [NewTypedRateLimitingQueueWithOptions] takes the options of shardq.
package workqueue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/kubernetes/internal/instruments"
	"github.com/shardq/shardq/kubernetes/queue"
)

// Typed is a queue without delays.
type Typed[T comparable] struct{ TypedInterface[T] }

// DefaultQueue is client-go's: the order in which items are added.
func DefaultQueue[T comparable]() Queue[T] { return workqueue.DefaultQueue[T]() }

func NewTyped[T comparable]() *Typed[T] { return NewTypedWithConfig(TypedQueueConfig[T]{}) }

// NewTypedWithConfig is client-go's constructor. If the configuration has a
// Queue, client-go's type for an order of items, the result is a queue of
// client-go.
func NewTypedWithConfig[T comparable](config TypedQueueConfig[T]) *Typed[T] {
	if config.Queue != nil {
		return &Typed[T]{workqueue.NewTypedWithConfig(config)}
	}
	return &Typed[T]{newQueue(config.Name, config.MetricsProvider, config.Clock, shardq.Options[T]{})}
}

func NewTypedDelayingQueue[T comparable]() TypedDelayingInterface[T] {
	return NewTypedDelayingQueueWithConfig(TypedDelayingQueueConfig[T]{})
}

// NewTypedDelayingQueueWithConfig is client-go's constructor. If the
// configuration has a Queue, client-go adds the delays to it.
func NewTypedDelayingQueueWithConfig[T comparable](config TypedDelayingQueueConfig[T]) TypedDelayingInterface[T] {
	if config.Queue != nil {
		return workqueue.NewTypedDelayingQueueWithConfig(config)
	}
	return newQueue(config.Name, config.MetricsProvider, config.Clock, shardq.Options[T]{})
}

func NewTypedRateLimitingQueue[T comparable](limiter TypedRateLimiter[T]) TypedRateLimitingInterface[T] {
	return NewTypedRateLimitingQueueWithConfig(limiter, TypedRateLimitingQueueConfig[T]{})
}

// NewTypedRateLimitingQueueWithConfig is client-go's constructor. If the
// configuration has a DelayingQueue, client-go adds the limiter to it.
func NewTypedRateLimitingQueueWithConfig[T comparable](
	limiter TypedRateLimiter[T], config TypedRateLimitingQueueConfig[T],
) TypedRateLimitingInterface[T] {
	if config.DelayingQueue != nil {
		return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, config)
	}
	return NewTypedRateLimitingQueueWithOptions(limiter, config, shardq.Options[T]{})
}

// NewTypedRateLimitingQueueWithOptions is [NewTypedRateLimitingQueueWithConfig]
// with options of a shardq queue, except name, clock and limiter. If Shards is
// zero, the queue has one. The result's Underlying has the other methods of
// shardq's queue, such as Stats. It panics if the options have a fault, or if
// the configuration has a DelayingQueue.
func NewTypedRateLimitingQueueWithOptions[T comparable](
	limiter TypedRateLimiter[T], config TypedRateLimitingQueueConfig[T], options shardq.Options[T],
) *queue.Queue[T] {
	if config.DelayingQueue != nil {
		panic("workqueue: TypedRateLimitingQueueConfig.DelayingQueue is set: want none with options of shardq")
	}
	options.RateLimiter = limiter
	return newQueue(config.Name, config.MetricsProvider, config.Clock, options)
}

func newQueue[T comparable](
	name string, provider MetricsProvider, c clock.WithTicker, options shardq.Options[T],
) *queue.Queue[T] {
	if c == nil {
		c = clock.RealClock{}
	}
	options.Name, options.Clock = name, queue.FromClock(c)
	if options.Shards == 0 {
		options.Shards = 1
	}
	all := queue.Options[T]{Queue: options, CountEveryDelay: true}
	if all.Scraped = provider == nil; all.Scraped {
		provider = setProvider()
	}
	if name != "" && provider != nil {
		to := instruments.Of(name, provider, false)
		all.Instruments = &to
		all.Ticker = c.NewTicker(500 * time.Millisecond) // as client-go
	}
	q, err := queue.New(all)
	if err != nil {
		panic(err)
	}
	return q
}
