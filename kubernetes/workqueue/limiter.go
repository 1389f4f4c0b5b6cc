package workqueue

import (
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/shardq/shardq/limiter"
)

// These types are client-go's. The constructors below return shardq's limiters.
type (
	TypedRateLimiter[T comparable]                       = workqueue.TypedRateLimiter[T]
	TypedBucketRateLimiter[T comparable]                 = workqueue.TypedBucketRateLimiter[T]
	TypedItemExponentialFailureRateLimiter[T comparable] = workqueue.TypedItemExponentialFailureRateLimiter[T]
	TypedItemFastSlowRateLimiter[T comparable]           = workqueue.TypedItemFastSlowRateLimiter[T]
	TypedMaxOfRateLimiter[T comparable]                  = workqueue.TypedMaxOfRateLimiter[T]
	TypedWithMaxWaitRateLimiter[T comparable]            = workqueue.TypedWithMaxWaitRateLimiter[T]
)

// NewTypedItemExponentialFailureRateLimiter is [limiter.NewExponential].
func NewTypedItemExponentialFailureRateLimiter[T comparable](base, most time.Duration) TypedRateLimiter[T] {
	return limiter.NewExponential[T](base, most)
}

// NewTypedItemFastSlowRateLimiter is [limiter.NewFastSlow].
func NewTypedItemFastSlowRateLimiter[T comparable](fast, slow time.Duration, maxFastAttempts int) TypedRateLimiter[T] {
	return limiter.NewFastSlow[T](fast, slow, maxFastAttempts)
}

// NewTypedMaxOfRateLimiter is [limiter.NewMaxOf].
func NewTypedMaxOfRateLimiter[T comparable](limiters ...TypedRateLimiter[T]) TypedRateLimiter[T] {
	all := make([]limiter.Limiter[T], len(limiters))
	for i, l := range limiters {
		all[i] = l
	}
	return limiter.NewMaxOf(all...)
}

// NewTypedWithMaxWaitRateLimiter is [limiter.NewWithMaxWait].
func NewTypedWithMaxWaitRateLimiter[T comparable](l TypedRateLimiter[T], most time.Duration) TypedRateLimiter[T] {
	return limiter.NewWithMaxWait[T](l, most)
}

// DefaultTypedControllerRateLimiter is [limiter.DefaultController].
func DefaultTypedControllerRateLimiter[T comparable]() TypedRateLimiter[T] {
	return limiter.DefaultController[T]()
}

// DefaultTypedItemBasedRateLimiter is [limiter.DefaultItemBased].
func DefaultTypedItemBasedRateLimiter[T comparable]() TypedRateLimiter[T] {
	return limiter.DefaultItemBased[T]()
}
