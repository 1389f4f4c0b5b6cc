package workqueue

import (
	"context"
	"reflect"
	"time"
	_ "unsafe" // for go:linkname

	"k8s.io/client-go/util/workqueue"

	"github.com/shardq/shardq/limiter"
)

// These types are client-go's.
type (
	TypedInterface[T comparable]                         = workqueue.TypedInterface[T]
	TypedDelayingInterface[T comparable]                 = workqueue.TypedDelayingInterface[T]
	TypedRateLimitingInterface[T comparable]             = workqueue.TypedRateLimitingInterface[T]
	TypedQueueConfig[T comparable]                       = workqueue.TypedQueueConfig[T]
	TypedDelayingQueueConfig[T comparable]               = workqueue.TypedDelayingQueueConfig[T]
	TypedRateLimitingQueueConfig[T comparable]           = workqueue.TypedRateLimitingQueueConfig[T]
	Queue[T comparable]                                  = workqueue.Queue[T]
	TypedRateLimiter[T comparable]                       = workqueue.TypedRateLimiter[T]
	TypedBucketRateLimiter[T comparable]                 = workqueue.TypedBucketRateLimiter[T]
	TypedItemExponentialFailureRateLimiter[T comparable] = workqueue.TypedItemExponentialFailureRateLimiter[T]
	TypedItemFastSlowRateLimiter[T comparable]           = workqueue.TypedItemFastSlowRateLimiter[T]
	TypedMaxOfRateLimiter[T comparable]                  = workqueue.TypedMaxOfRateLimiter[T]
	TypedWithMaxWaitRateLimiter[T comparable]            = workqueue.TypedWithMaxWaitRateLimiter[T]
	MetricsProvider                                      = workqueue.MetricsProvider
	GaugeMetric                                          = workqueue.GaugeMetric
	SettableGaugeMetric                                  = workqueue.SettableGaugeMetric
	CounterMetric                                        = workqueue.CounterMetric
	SummaryMetric                                        = workqueue.SummaryMetric
	HistogramMetric                                      = workqueue.HistogramMetric
	DoWorkPieceFunc                                      = workqueue.DoWorkPieceFunc
	Options                                              = workqueue.Options // of ParallelizeUntil
)

// WithChunkSize is client-go's.
func WithChunkSize(pieces int) Options { return workqueue.WithChunkSize(pieces) }

// ParallelizeUntil is client-go's.
func ParallelizeUntil(ctx context.Context, workers, pieces int, do DoWorkPieceFunc, options ...Options) {
	workqueue.ParallelizeUntil(ctx, workers, pieces, do, options...)
}

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

// SetProvider is client-go's. It sets the MetricsProvider of all queues, of
// client-go and of this package, that are made afterwards and name no other.
// Only the first call has an effect.
func SetProvider(p MetricsProvider) { workqueue.SetProvider(p) }

// globalMetricsProvider is client-go's variable, which it does not export. If a
// version of client-go has none of this name, it is nil.
//
//go:linkname globalMetricsProvider k8s.io/client-go/util/workqueue.globalMetricsProvider
var globalMetricsProvider MetricsProvider

// client-go begins with a provider whose type is named noopMetricsProvider.
func setProvider() MetricsProvider {
	if p := globalMetricsProvider; p != nil && reflect.TypeOf(p).Name() != "noopMetricsProvider" {
		return p
	}
	return nil
}
