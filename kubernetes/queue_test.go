package kubernetes_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/kubernetes"
	shardqueue "github.com/shardq/shardq/kubernetes/workqueue"
)

// TestControllerReconciles: a controller runs on the queue, retries what fails,
// and ends.
func TestControllerReconciles(t *testing.T) {
	var mu sync.Mutex
	runs := map[string]int{}
	failed := errors.New("fails at first")
	skip := true
	c, err := controller.NewTypedUnmanaged("reconciles", controller.TypedOptions[reconcile.Request]{
		SkipNameValidation: &skip, MaxConcurrentReconciles: 4,
		NewQueue: kubernetes.NewQueue(kubernetes.Options[reconcile.Request]{}),
		Reconciler: reconcile.Func(func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			if runs[r.String()]++; runs[r.String()] < 3 {
				return reconcile.Result{}, failed
			}
			return reconcile.Result{}, nil
		}),
	})
	require.NoError(t, err)
	require.NoError(t, c.Watch(source.TypedFunc[reconcile.Request](
		func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			_, ok := q.(priorityqueue.PriorityQueue[reconcile.Request])
			require.True(t, ok, "the controller has wrapped the queue, and lost the priorities")
			for i := range 20 {
				q.Add(request("a", i))
			}
			return nil
		})))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		for i := range 20 {
			if runs[request("a", i).String()] < 3 {
				return false
			}
		}
		return true
	}, 10*time.Second, time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
	text := scraped()
	require.Contains(t, text, `workqueue_depth{controller="reconciles",name="reconciles",priority="0"} 0`)
	require.Contains(t, text, `workqueue_adds_total{controller="reconciles",name="reconciles"} 60`)
	require.Contains(t, text, `workqueue_retries_total{controller="reconciles",name="reconciles"} 40`)
	require.Contains(t, text, `workqueue_queue_duration_seconds_count{controller="reconciles",name="reconciles"} 60`)
	require.Contains(t, text, `workqueue_work_duration_seconds_count{controller="reconciles",name="reconciles"} 60`)
}

// scraped returns controller-runtime's metrics as text.
func scraped() string {
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
	return answer.Body.String()
}

// TestSameSeriesAsTheOther: for the same calls, the metrics of the two queues
// have the same names, labels and values, also beyond 25 priorities, for which
// controller-runtime 0.22 has no common label.
func TestSameSeriesAsTheOther(t *testing.T) {
	for _, items := range []int{25, 40} {
		id := time.Now().UnixNano() // series stay
		one, two := fmt.Sprint("series-of-one", id), fmt.Sprint("series-of-two", id)
		ours, err := kubernetes.New(kubernetes.Options[int]{Queue: shardq.Options[int]{Name: one}})
		require.NoError(t, err)
		theirs := priorityqueue.New[int](two)
		for _, q := range []priorityqueue.PriorityQueue[int]{ours, theirs} {
			for item := range items {
				q.AddWithOpts(priorityqueue.AddOpts{Priority: &item}, item)
				q.Len() // the other one takes adds in when it is asked
			}
			for range 10 {
				item, _ := q.Get()
				q.AddWithOpts(priorityqueue.AddOpts{Priority: &item}, item) // which is dirty
				q.Len()
			}
		}
		const common = `priority="exceeded_cardinality_limit"`
		require.NotEmpty(t, countsOf(one))
		require.Equal(t, items > 25, strings.Contains(countsOf(one), common))
		if items == 25 || strings.Contains(countsOf(two), common) {
			require.Equal(t, strings.ReplaceAll(countsOf(two), two, one), countsOf(one))
		}
		ours.ShutDown()
		theirs.ShutDown()
	}
}

// countsOf returns a queue's metrics that are no times.
func countsOf(queue string) string {
	var lines []string
	for line := range strings.Lines(scraped()) {
		timed := strings.Contains(line, "seconds{") || strings.Contains(line, "_bucket{") || strings.Contains(line, "_sum{")
		if strings.Contains(line, `"`+queue+`"`) && !timed {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func TestDrainFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, err := kubernetes.New(kubernetes.Options[string]{DrainFor: time.Second})
		require.NoError(t, err)
		q.Add("a")
		q.Add("b")
		item, _ := q.Get()
		q.Done(item)
		q.Add("a")
		ended := make(chan struct{})
		go func() { q.ShutDown(); close(ended) }()
		synctest.Wait()
		item, shutdown := q.Get()
		require.False(t, shutdown)
		q.Done(item)
		time.Sleep(2 * time.Second)
		<-ended
		_, shutdown = q.Get()
		require.True(t, shutdown, "the other is discarded")

		q, err = kubernetes.New(kubernetes.Options[string]{DrainFor: time.Hour})
		require.NoError(t, err)
		q.Add("a")
		began := time.Now()
		q.ShutDown()
		require.Zero(t, time.Since(began), "a replica that never led has nobody to wait for")
	})
}

// TestPlainQueueDrains: ShutDownWithDrain of a queue without priorities waits for
// what is in processing.
func TestPlainQueueDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := kubernetes.NewQueue(kubernetes.Options[string]{NoPriorities: true})("", nil)
		q.Add("a")
		q.Add("b")
		first, _ := q.Get()
		ended := make(chan struct{})
		go func() { q.ShutDownWithDrain(); close(ended) }()
		synctest.Wait()
		second, _ := q.Get()
		q.Done(first)
		synctest.Wait()
		select {
		case <-ended:
			t.Fatal("the drain has not waited")
		default:
		}
		q.Done(second)
		<-ended
	})
}

func TestFaultsOfOptions(t *testing.T) {
	options := kubernetes.Options[string]{Queue: shardq.Options[string]{Shards: -1}}
	_, err := kubernetes.New(options)
	require.ErrorContains(t, err, "Options.Shards is -1")
	require.PanicsWithError(t, err.Error(), func() { kubernetes.NewQueue(options)("a", nil) })
}

// TestKeepBackoff: adds during a reconcile that fails, and during its backoff,
// do not end the backoff.
func TestKeepBackoff(t *testing.T) {
	backoff := workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Hour, time.Hour)
	options := shardq.Options[string]{KeepBackoff: true}
	for _, q := range []workqueue.TypedRateLimitingInterface[string]{
		kubernetes.NewQueue(kubernetes.Options[string]{Queue: options})("", backoff),
		shardqueue.NewTypedRateLimitingQueueWithOptions(backoff, workqueue.TypedRateLimitingQueueConfig[string]{}, options),
	} {
		q.Add("object")
		item, _ := q.Get()
		q.Add(item)
		q.AddRateLimited(item)
		q.Done(item)
		q.Add(item)
		require.Zero(t, q.Len())
		q.Forget(item)
		q.Add(item)
		require.Equal(t, 1, q.Len())
		q.ShutDown()
	}
}

// TestNoPriorities: a queue as controllers with UsePriorityQueue: false have it. It is in
// order, counts a delay of zero as a retry, and is on the page until the shutdown.
func TestNoPriorities(t *testing.T) {
	options, name := kubernetes.Options[string]{NoPriorities: true}, rand.Text() // series outlive a queue
	q := kubernetes.NewQueue(options)(name, nil)
	_, has := q.(priorityqueue.PriorityQueue[string])
	require.False(t, has, "an add of a low priority would go first")
	q.Add("a")
	q.AddAfter("b", 0)
	first, _ := q.Get()
	q.Add(first)
	require.Equal(t, 1, q.Len(), "as in client-go, without what is dirty")
	labels := fmt.Sprintf("controller=%q,name=%q", name, name)
	require.Contains(t, scraped(), "workqueue_depth{"+labels+`,priority=""} 2`)
	require.Contains(t, scraped(), "workqueue_retries_total{"+labels+"} 1")
	page := func() string {
		answer := httptest.NewRecorder()
		kubernetes.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/?format=text", nil))
		return answer.Body.String()
	}
	require.Contains(t, page(), name)
	q.ShutDown()
	require.NotContains(t, page(), name)
	q.Done(first)
	for _, want := range []string{"b", "a"} {
		item, shutdown := q.Get()
		require.False(t, shutdown)
		require.Equal(t, want, item)
		q.Done(item)
	}
	_, shutdown := q.Get()
	require.True(t, shutdown)
	_, err := kubernetes.New(options)
	require.ErrorContains(t, err, "want NewQueue")
	options.DrainFor = time.Second
	require.Panics(t, func() { kubernetes.NewQueue(options)("a", nil) })
}

// controller-runtime#3496, external-secrets#6053: while changes keep coming, the
// initial list is reconciled with LowPriorityInterval alone.
func TestInitialListBesideSteadyChanges(t *testing.T) {
	low := -100 // of the initial list
	for interval, want := range map[int]int{0: 0, 10: 100} {
		q, err := kubernetes.New(kubernetes.Options[string]{Queue: shardq.Options[string]{LowPriorityInterval: interval}})
		require.NoError(t, err)
		defer q.ShutDown()
		for i := range 100 {
			q.AddWithOpts(priorityqueue.AddOpts{Priority: &low}, "listed "+strconv.Itoa(i))
		}
		listed := 0
		for i := range 1000 {
			q.Add("changed " + strconv.Itoa(i))
			item, priority, _ := q.GetWithPriority()
			if priority == low {
				listed++
			}
			q.Forget(item)
			q.Done(item)
		}
		require.Equal(t, want, listed, "LowPriorityInterval %d", interval)
	}
}

// TestDrainWithoutWorkers: a program whose cache does not sync ends without workers.
func TestDrainWithoutWorkers(t *testing.T) {
	limiter := workqueue.DefaultTypedControllerRateLimiter[int]()
	for _, q := range []workqueue.TypedRateLimitingInterface[int]{
		workqueue.NewTypedRateLimitingQueue(limiter), shardqueue.NewTypedRateLimitingQueue(limiter),
		kubernetes.NewQueue(kubernetes.Options[int]{NoPriorities: true})("", limiter),
	} {
		q.Add(1)
		q.Add(2)
		q.ShutDownWithDrain()
		item, shutdown := q.Get()
		require.Equal(t, 1, item)
		require.False(t, shutdown)
	}
}

func TestShorterOfTwoDelaysCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, err := kubernetes.New(kubernetes.Options[string]{})
		require.NoError(t, err)
		defer q.ShutDown()
		q.AddWithOpts(priorityqueue.AddOpts{After: time.Hour, RateLimited: true}, "a")
		time.Sleep(time.Second)
		require.Equal(t, 1, q.Len())
		require.EqualValues(t, 0, q.NumRequeues("b"))
	})
}
