package workqueue_test

import (
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	theirs "k8s.io/client-go/util/workqueue"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/kubernetes/workqueue"
	"github.com/shardq/shardq/limiter"
)

// The types are client-go's, and limiters are assignable both ways.
var (
	_ theirs.TypedInterface[string]   = (*workqueue.Typed[string])(nil)
	_ theirs.TypedRateLimiter[string] = limiter.Limiter[string](nil)
	_ limiter.Limiter[string]         = theirs.TypedRateLimiter[string](nil)
)

// counts is a MetricsProvider that ignores all but two metrics.
type counts struct{ adds, retries prometheus.Counter }

func newCounts() *counts {
	counter := func() prometheus.Counter { return prometheus.NewCounter(prometheus.CounterOpts{Name: "c"}) }
	return &counts{counter(), counter()}
}

func (c *counts) NewDepthMetric(string) workqueue.GaugeMetric            { return ignored{} }
func (c *counts) NewAddsMetric(string) workqueue.CounterMetric           { return c.adds }
func (c *counts) NewRetriesMetric(string) workqueue.CounterMetric        { return c.retries }
func (c *counts) NewLatencyMetric(string) workqueue.HistogramMetric      { return ignored{} }
func (c *counts) NewWorkDurationMetric(string) workqueue.HistogramMetric { return ignored{} }
func (c *counts) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric {
	return ignored{}
}
func (c *counts) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return ignored{}
}

type ignored struct{}

func (ignored) Inc()            {}
func (ignored) Dec()            {}
func (ignored) Set(float64)     {}
func (ignored) Observe(float64) {}

// registered is the provider of the whole process, because only the first call counts.
var registered = sync.OnceValue(func() *counts {
	first := newCounts()
	theirs.SetProvider(first)
	workqueue.SetProvider(newCounts())
	return first
})

// TestRegisteredProvider: the provider that a program sets for client-go gets
// the metrics of queues that name no other. Only the first call counts.
func TestRegisteredProvider(t *testing.T) {
	first, own := registered(), newCounts()
	adds, retries := testutil.ToFloat64(first.adds), testutil.ToFloat64(first.retries)
	for _, config := range []workqueue.TypedRateLimitingQueueConfig[string]{
		{Name: "a"}, {}, {Name: "b", MetricsProvider: own}, {MetricsProvider: own},
	} {
		q := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](), config)
		q.Add("x")
		q.AddAfter("y", 0)
		q.ShutDown()
	}
	named := workqueue.NewNamedRateLimitingQueue(workqueue.DefaultControllerRateLimiter(), "c")
	named.Add("z")
	named.ShutDown()
	require.EqualValues(t, adds+3, testutil.ToFloat64(first.adds))
	require.EqualValues(t, 2, testutil.ToFloat64(own.adds))
	require.EqualValues(t, retries+1, testutil.ToFloat64(first.retries), "client-go counts an AddAfter without a delay")
	require.EqualValues(t, 1, testutil.ToFloat64(own.retries))
}

// TestFakeClock: client-go's fake clock drives delays.
func TestFakeClock(t *testing.T) {
	c, provider := testingclock.NewFakeClock(time.Unix(0, 0)), newCounts()
	q := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{
		Name: "clock", Clock: c, MetricsProvider: provider,
	})
	defer q.ShutDown()
	for range 3 { // a second firing of one timer, too
		q.AddAfter("a", time.Minute)
		q.AddAfter("b", 2*time.Minute)
		for _, want := range []string{"a", "b"} {
			require.Zero(t, q.Len())
			c.Step(time.Minute)
			item, _ := q.Get()
			require.Equal(t, want, item)
			q.Done(item)
		}
	}
	require.EqualValues(t, 6, testutil.ToFloat64(provider.retries))
}

// lastFirst is an order: what was added last is handed out first.
type lastFirst struct{ items []string }

func (q *lastFirst) Touch(string)     {}
func (q *lastFirst) Push(item string) { q.items = append(q.items, item) }
func (q *lastFirst) Len() int         { return len(q.items) }

func (q *lastFirst) Pop() string {
	last := q.items[len(q.items)-1]
	q.items = q.items[:len(q.items)-1]
	return last
}

// TestForeignParts: a queue that the configuration brings along is used.
func TestForeignParts(t *testing.T) {
	inner := workqueue.NewTyped[string]()
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{Queue: inner})
	limiting := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedItemBasedRateLimiter[string](),
		workqueue.TypedRateLimitingQueueConfig[string]{DelayingQueue: delaying})
	limiting.Add("a")
	require.Equal(t, 1, inner.Len())
	limiting.ShutDown()
	last := &lastFirst{}
	ordered := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Queue: last})
	ordered.Add("a")
	ordered.Add("b")
	item, _ := ordered.Get()
	require.Equal(t, "b", item)
	require.Panics(t, func() {
		workqueue.NewTypedRateLimitingQueueWithOptions(workqueue.DefaultTypedItemBasedRateLimiter[string](),
			workqueue.TypedRateLimitingQueueConfig[string]{DelayingQueue: delaying}, shardq.Options[string]{})
	})
}
