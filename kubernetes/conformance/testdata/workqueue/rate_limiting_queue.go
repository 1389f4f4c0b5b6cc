package workqueue

import "k8s.io/utils/clock"

type RateLimitingInterface TypedRateLimitingInterface[any]

type TypedRateLimitingInterface[T comparable] interface {
	TypedDelayingInterface[T]
	AddRateLimited(item T)
	Forget(item T)
	NumRequeues(item T) int
}

type RateLimitingQueueConfig = TypedRateLimitingQueueConfig[any]

type TypedRateLimitingQueueConfig[T comparable] struct {
	Name            string
	MetricsProvider MetricsProvider
	Clock           clock.WithTicker
	DelayingQueue   TypedDelayingInterface[T]
}

type rateLimitingType[T comparable] struct {
	TypedDelayingInterface[T]
	rateLimiter TypedRateLimiter[T]
}

func NewRateLimitingQueue(limiter RateLimiter) RateLimitingInterface {
	return NewTypedRateLimitingQueueWithConfig[any](limiter, RateLimitingQueueConfig{})
}

func NewTypedRateLimitingQueueWithConfig[T comparable](
	limiter TypedRateLimiter[T], config TypedRateLimitingQueueConfig[T],
) TypedRateLimitingInterface[T] {
	if config.DelayingQueue == nil {
		config.DelayingQueue = NewTypedDelayingQueueWithConfig(TypedDelayingQueueConfig[T]{
			Name: config.Name, MetricsProvider: config.MetricsProvider, Clock: config.Clock,
		})
	}
	return &rateLimitingType[T]{config.DelayingQueue, limiter}
}

func NewNamedRateLimitingQueue(limiter RateLimiter, name string) RateLimitingInterface {
	return NewTypedRateLimitingQueueWithConfig(limiter, RateLimitingQueueConfig{Name: name})
}

func NewTypedRateLimitingQueue[T comparable](limiter TypedRateLimiter[T]) TypedRateLimitingInterface[T] {
	return NewTypedRateLimitingQueueWithConfig(limiter, TypedRateLimitingQueueConfig[T]{})
}

func (q *rateLimitingType[T]) AddRateLimited(item T)  { q.AddAfter(item, q.rateLimiter.When(item)) }
func (q *rateLimitingType[T]) Forget(item T)          { q.rateLimiter.Forget(item) }
func (q *rateLimitingType[T]) NumRequeues(item T) int { return q.rateLimiter.NumRequeues(item) }
