package workqueue

import (
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

type DelayingInterface TypedDelayingInterface[any]

type TypedDelayingInterface[T comparable] interface {
	TypedInterface[T]
	AddAfter(item T, duration time.Duration)
}

type DelayingQueueConfig = TypedDelayingQueueConfig[any]

type TypedDelayingQueueConfig[T comparable] struct {
	Logger          *klog.Logger
	Name            string
	MetricsProvider MetricsProvider
	Clock           clock.WithTicker
	Queue           TypedInterface[T]
}

// delayingType has the fields that the tests set and look at. A test of the
// rate limiting queue makes one of its own, and receives what AddAfter sends.
// Otherwise the channel is nil: what was added is known to the queue at once.
type delayingType[T comparable] struct {
	TypedInterface[T]
	clock           clock.Clock
	heartbeat       clock.Ticker
	stopCh          chan struct{}
	waitingForAddCh chan *waitFor[T]
	metrics         retryMetrics
}

type waitFor[T any] struct {
	data    T
	readyAt time.Time
}

const maxWait = 10 * time.Second

func (q *delayingType[T]) AddAfter(item T, delay time.Duration) {
	if q.waitingForAddCh != nil {
		q.waitingForAddCh <- &waitFor[T]{item, q.clock.Now().Add(delay)}
		return
	}
	q.TypedInterface.(*Typed[T]).AddAfter(item, delay)
}

func NewDelayingQueueWithConfig(config DelayingQueueConfig) DelayingInterface {
	return NewTypedDelayingQueueWithConfig(config)
}

func NewTypedDelayingQueueWithConfig[T comparable](config TypedDelayingQueueConfig[T]) TypedDelayingInterface[T] {
	if config.Queue != nil {
		panic("a queue within a queue is not tried here")
	}
	return &delayingType[T]{TypedInterface: NewTypedWithConfig(TypedQueueConfig[T]{
		Name: config.Name, MetricsProvider: config.MetricsProvider, Clock: config.Clock,
	})}
}
