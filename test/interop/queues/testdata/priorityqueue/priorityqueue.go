// Package priorityqueue is what controller-runtime's package of this name
// exports, and what its tests use of the rest, over a shardq queue.
package priorityqueue

import (
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	kubernetes "k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/internal/metrics"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/kubernetes/queue"
)

type AddOpts struct {
	After       time.Duration
	RateLimited bool
	Priority    *int
}

type PriorityQueue[T comparable] interface {
	workqueue.TypedRateLimitingInterface[T]
	AddWithOpts(o AddOpts, Items ...T)
	GetWithPriority() (item T, priority int, shutdown bool)
}

type Opts[T comparable] struct {
	RateLimiter    workqueue.TypedRateLimiter[T]
	MetricProvider workqueue.MetricsProvider
	Log            logr.Logger
}

type Opt[T comparable] func(*Opts[T])

// priorityqueue makes its queue when it is first used, because the tests set
// its clock and its limiter before.
type priorityqueue[T comparable] struct {
	name     string
	provider workqueue.MetricsProvider
	once     sync.Once
	made     *queue.Queue[T]

	now         func() time.Time
	tick        func(time.Duration) <-chan time.Time
	rateLimiter workqueue.TypedRateLimiter[T]

	// The tests set these, or see that they are empty.
	ready, waiting, queue bTree[*item[T]]
	locked                sets.Set[T]
	lockedLock            sync.Mutex
}

func New[T comparable](name string, options ...Opt[T]) PriorityQueue[T] {
	o := Opts[T]{MetricProvider: metrics.WorkqueueMetricsProvider{}}
	for _, set := range options {
		set(&o)
	}
	return &priorityqueue[T]{
		name: name, provider: o.MetricProvider, rateLimiter: o.RateLimiter, locked: sets.Set[T]{},
		now: time.Now, tick: time.Tick,
	}
}

func (q *priorityqueue[T]) inner() *queue.Queue[T] {
	q.once.Do(func() {
		c := queue.FromClock(ticking{now: q.now, tick: q.tick})
		options := queue.Options[T]{
			Queue: shardq.Options[T]{Name: q.name, Clock: c, RateLimiter: q.rateLimiter}, Priority: true,
		}
		if q.name != "" {
			options.Instruments = q.instruments()
			options.Ticker = kubernetes.RealClock{}.NewTicker(500 * time.Millisecond)
		}
		var err error
		if q.made, err = queue.New(options); err != nil {
			panic(err)
		}
	})
	return q.made
}

func (q *priorityqueue[T]) instruments() *queue.Instruments {
	to := &queue.Instruments{
		Adds: q.provider.NewAddsMetric(q.name), Retries: q.provider.NewRetriesMetric(q.name),
		Latency: q.provider.NewLatencyMetric(q.name), WorkDuration: q.provider.NewWorkDurationMetric(q.name),
		Unfinished:     q.provider.NewUnfinishedWorkSecondsMetric(q.name),
		LongestRunning: q.provider.NewLongestRunningProcessorSecondsMetric(q.name),
	}
	if with, ok := q.provider.(metrics.MetricsProviderWithPriority); ok {
		to.DepthByPriority = with.NewDepthMetricWithPriority(q.name)
	} else {
		to.Depth = q.provider.NewDepthMetric(q.name)
	}
	return to
}

func (q *priorityqueue[T]) AddWithOpts(o AddOpts, items ...T) {
	q.inner().AddWith(queue.AddOptions{
		After: o.After, RateLimited: o.RateLimited, Priority: ptr.Deref(o.Priority, 0),
	}, items...)
}
func (q *priorityqueue[T]) Add(item T)                           { q.inner().Add(item) }
func (q *priorityqueue[T]) AddAfter(item T, after time.Duration) { q.inner().AddAfter(item, after) }
func (q *priorityqueue[T]) AddRateLimited(item T)                { q.inner().AddRateLimited(item) }
func (q *priorityqueue[T]) Get() (T, bool)                       { return q.inner().Get() }
func (q *priorityqueue[T]) GetWithPriority() (T, int, bool)      { return q.inner().GetWithPriority() }
func (q *priorityqueue[T]) Done(item T)                          { q.inner().Done(item) }
func (q *priorityqueue[T]) Forget(item T)                        { q.inner().Forget(item) }
func (q *priorityqueue[T]) NumRequeues(item T) int               { return q.inner().NumRequeues(item) }
func (q *priorityqueue[T]) Len() int                             { return q.inner().Depth() }
func (q *priorityqueue[T]) ShutDown()                            { q.inner().ShutDown() }
func (q *priorityqueue[T]) ShutDownWithDrain()                   { q.inner().ShutDown() }
func (q *priorityqueue[T]) ShuttingDown() bool                   { return q.inner().ShuttingDown() }

// ticking is a clock of the functions that the tests set.
type ticking struct {
	kubernetes.RealClock
	now  func() time.Time
	tick func(time.Duration) <-chan time.Time
}

func (c ticking) Now() time.Time                            { return c.now() }
func (c ticking) NewTimer(d time.Duration) kubernetes.Timer { return ticks{c.tick(d)} }

type ticks struct{ c <-chan time.Time }

func (t ticks) C() <-chan time.Time    { return t.c }
func (ticks) Stop() bool               { return true }
func (ticks) Reset(time.Duration) bool { panic("not used") }

// bTree, item and clone are for tests of what is within the other queue.
type bTree[T any] interface {
	ReplaceOrInsert(item T) (T, bool)
	Delete(item T) (T, bool)
}

type item[T comparable] struct {
	Key          T
	AddedCounter uint64
	Priority     int
	ReadyAt      *time.Time
}

func (i *item[T]) clone() item[T] {
	clone := *i
	if i.ReadyAt != nil {
		clone.ReadyAt = ptr.To(*i.ReadyAt) // the module has an older language
	}
	return clone
}
