//lint:file-ignore SA1019 these are the deprecated names

package workqueue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// The names that client-go has deprecated: queues of items of any type.

type (
	Interface                         = workqueue.Interface
	DelayingInterface                 = workqueue.DelayingInterface
	RateLimitingInterface             = workqueue.RateLimitingInterface
	RateLimiter                       = workqueue.RateLimiter
	QueueConfig                       = workqueue.QueueConfig
	DelayingQueueConfig               = workqueue.DelayingQueueConfig
	RateLimitingQueueConfig           = workqueue.RateLimitingQueueConfig
	BucketRateLimiter                 = workqueue.BucketRateLimiter
	ItemExponentialFailureRateLimiter = workqueue.ItemExponentialFailureRateLimiter
	ItemFastSlowRateLimiter           = workqueue.ItemFastSlowRateLimiter
	MaxOfRateLimiter                  = workqueue.MaxOfRateLimiter
	WithMaxWaitRateLimiter            = workqueue.WithMaxWaitRateLimiter
	Type                              = Typed[any]
)

// Deprecated: use [NewTyped].
func New() *Type { return NewTyped[any]() }

// Deprecated: use [NewTypedWithConfig].
func NewWithConfig(config QueueConfig) *Type { return NewTypedWithConfig(config) }

// Deprecated: use [NewTypedWithConfig].
func NewNamed(name string) *Type { return NewTypedWithConfig(QueueConfig{Name: name}) }

// Deprecated: use [NewTypedDelayingQueue].
func NewDelayingQueue() DelayingInterface { return NewTypedDelayingQueue[any]() }

// Deprecated: use [NewTypedDelayingQueue].
func TypedNewDelayingQueue[T comparable]() TypedDelayingInterface[T] {
	return NewTypedDelayingQueue[T]()
}

// Deprecated: use [NewTypedDelayingQueueWithConfig].
func NewDelayingQueueWithConfig(config DelayingQueueConfig) DelayingInterface {
	return NewTypedDelayingQueueWithConfig(config)
}

// Deprecated: use [NewTypedDelayingQueueWithConfig].
func NewNamedDelayingQueue(name string) DelayingInterface {
	return NewTypedDelayingQueueWithConfig(DelayingQueueConfig{Name: name})
}

// Deprecated: use [NewTypedDelayingQueueWithConfig].
func NewDelayingQueueWithCustomQueue(q Interface, name string) DelayingInterface {
	return NewTypedDelayingQueueWithConfig(DelayingQueueConfig{Name: name, Queue: q})
}

// Deprecated: use [NewTypedDelayingQueueWithConfig].
func NewDelayingQueueWithCustomClock(c clock.WithTicker, name string) DelayingInterface {
	return NewTypedDelayingQueueWithConfig(DelayingQueueConfig{Name: name, Clock: c})
}

// Deprecated: use [NewTypedRateLimitingQueue].
func NewRateLimitingQueue(limiter RateLimiter) RateLimitingInterface {
	return NewTypedRateLimitingQueue[any](limiter)
}

// Deprecated: use [NewTypedRateLimitingQueueWithConfig].
func NewRateLimitingQueueWithConfig(limiter RateLimiter, config RateLimitingQueueConfig) RateLimitingInterface {
	return NewTypedRateLimitingQueueWithConfig[any](limiter, config)
}

// Deprecated: use [NewTypedRateLimitingQueueWithConfig].
func NewNamedRateLimitingQueue(limiter RateLimiter, name string) RateLimitingInterface {
	return NewTypedRateLimitingQueueWithConfig[any](limiter, RateLimitingQueueConfig{Name: name})
}

// Deprecated: use [NewTypedRateLimitingQueueWithConfig].
func NewRateLimitingQueueWithDelayingInterface(di DelayingInterface, limiter RateLimiter) RateLimitingInterface {
	return NewTypedRateLimitingQueueWithConfig[any](limiter, RateLimitingQueueConfig{DelayingQueue: di})
}

// Deprecated: use [DefaultTypedControllerRateLimiter].
func DefaultControllerRateLimiter() RateLimiter { return DefaultTypedControllerRateLimiter[any]() }

// Deprecated: use [DefaultTypedItemBasedRateLimiter].
func DefaultItemBasedRateLimiter() RateLimiter { return DefaultTypedItemBasedRateLimiter[any]() }

// Deprecated: use [NewTypedItemExponentialFailureRateLimiter].
func NewItemExponentialFailureRateLimiter(base, most time.Duration) RateLimiter {
	return NewTypedItemExponentialFailureRateLimiter[any](base, most)
}

// Deprecated: use [NewTypedItemFastSlowRateLimiter].
func NewItemFastSlowRateLimiter(fast, slow time.Duration, maxFastAttempts int) RateLimiter {
	return NewTypedItemFastSlowRateLimiter[any](fast, slow, maxFastAttempts)
}

// Deprecated: use [NewTypedMaxOfRateLimiter].
func NewMaxOfRateLimiter(limiters ...TypedRateLimiter[any]) RateLimiter {
	return NewTypedMaxOfRateLimiter(limiters...)
}

// Deprecated: use [NewTypedWithMaxWaitRateLimiter].
func NewWithMaxWaitRateLimiter(limiter RateLimiter, most time.Duration) RateLimiter {
	return NewTypedWithMaxWaitRateLimiter[any](limiter, most)
}
