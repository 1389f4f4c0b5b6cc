// Package workqueue is what the tests of client-go's package of this name use of
// it, over a shardq queue.
package workqueue

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/kubernetes/queue"
	"github.com/shardq/shardq/stats"
)

type Interface TypedInterface[any]

type TypedInterface[T comparable] interface {
	Add(item T)
	Len() int
	Get() (item T, shutdown bool)
	Done(item T)
	ShutDown()
	ShutDownWithDrain()
	ShuttingDown() bool
}

type Queue[T comparable] interface {
	Touch(item T)
	Push(item T)
	Len() int
	Pop() (item T)
}

// DefaultQueue returns a queue that does nothing.
func DefaultQueue[T comparable]() Queue[T] { return nothing[T]{} }

type nothing[T comparable] struct{}

func (nothing[T]) Touch(T)       {}
func (nothing[T]) Push(T)        {}
func (nothing[T]) Len() int      { return 0 }
func (nothing[T]) Pop() (item T) { return item }

type (
	QueueConfig = TypedQueueConfig[any]
	Type        = Typed[any]
)

type TypedQueueConfig[T comparable] struct {
	Name            string
	MetricsProvider MetricsProvider
	Clock           clock.WithTicker
	Queue           Queue[T]
}

// A Typed touches the Queue that a test has given, as the other does. Its order
// is not used: package kubernetes/workqueue leaves such queues to client-go.
type Typed[T comparable] struct {
	*queue.Queue[T]
	touches Queue[T]
}

func (q *Typed[T]) Add(item T) {
	if q.touches != nil {
		if row, held := q.Underlying().Lookup(item); held && row.State == stats.Ready {
			q.touches.Touch(item)
		}
	}
	q.Queue.Add(item)
}

const defaultUnfinishedWorkUpdatePeriod = 500 * time.Millisecond

func New() *Type                             { return NewWithConfig(QueueConfig{}) }
func NewWithConfig(config QueueConfig) *Type { return NewTypedWithConfig(config) }

func NewTypedWithConfig[T comparable](config TypedQueueConfig[T]) *Typed[T] {
	return newQueueWithConfig(config, defaultUnfinishedWorkUpdatePeriod)
}

func newQueueWithConfig[T comparable](config TypedQueueConfig[T], period time.Duration) *Typed[T] {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	q := makeQueue[T](config.Clock, instruments(config), period)
	q.touches = config.Queue
	return q
}

func instruments[T comparable](config TypedQueueConfig[T]) *queue.Instruments {
	provider := config.MetricsProvider
	if provider == nil {
		provider = globalMetricsProvider
	}
	if config.Name == "" {
		return nil
	}
	return &queue.Instruments{
		Depth: provider.NewDepthMetric(config.Name), Adds: provider.NewAddsMetric(config.Name),
		Latency: provider.NewLatencyMetric(config.Name), WorkDuration: provider.NewWorkDurationMetric(config.Name),
		Unfinished:     provider.NewUnfinishedWorkSecondsMetric(config.Name),
		LongestRunning: provider.NewLongestRunningProcessorSecondsMetric(config.Name),
		Retries:        provider.NewRetriesMetric(config.Name),
	}
}

func makeQueue[T comparable](c clock.WithTicker, to *queue.Instruments, period time.Duration) *Typed[T] {
	options := queue.Options[T]{
		Queue: shardq.Options[T]{Shards: 1, Clock: queue.FromClock(c)}, Instruments: to, CountEveryDelay: true,
	}
	if to != nil {
		options.Ticker = c.NewTicker(period)
	}
	q, err := queue.New(options)
	if err != nil {
		panic(err)
	}
	return &Typed[T]{Queue: q}
}

// newQueue makes a queue whose metrics a test has written.
func newQueue[T comparable](c clock.WithTicker, _ Queue[T], m queueMetrics[T], period time.Duration) *Typed[T] {
	var mu sync.Mutex // they expect their caller to lock
	var none T
	count := func(call func(T)) each {
		return func() {
			mu.Lock()
			defer mu.Unlock()
			call(none)
		}
	}
	return makeQueue[T](c, &queue.Instruments{
		Depth: each(func() {}), Retries: each(func() {}), LongestRunning: each(func() {}),
		Adds: count(m.add), Latency: count(m.get), WorkDuration: count(m.done), Unfinished: each(m.updateUnfinishedWork),
	}, period)
}

// each is an instrument that is called for each count and observation.
type each func()

func (e each) Inc()            { e() }
func (e each) Dec()            { e() }
func (e each) Set(float64)     { e() }
func (e each) Observe(float64) { e() }
