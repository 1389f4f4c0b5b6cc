package kubernetes_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	theirs "k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/kubernetes"
	"github.com/shardq/shardq/kubernetes/workqueue"
)

// TestWithoutPriorities: such a queue is in order, counts a delay of zero as a retry,
// as client-go's, and leaves the page.
func TestWithoutPriorities(t *testing.T) {
	name := rand.Text() // series outlive a queue
	q := kubernetes.NewQueue(kubernetes.Options[int]{NoPriorities: true})(name, nil)
	for i := range 50 {
		q.AddAfter(i, 0)
	}
	for i := range 50 {
		item, _ := q.Get()
		require.Equal(t, i, item)
	}
	q.ShutDown()
	require.Contains(t, scraped(), fmt.Sprintf(`workqueue_retries_total{controller=%q,name=%q} 50`, name, name))
	page := httptest.NewRecorder()
	kubernetes.Handler().ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/?format=text", nil))
	require.NotContains(t, page.Body.String(), name)
}

// TestDrainWithoutWorkers: a program whose cache does not sync ends without workers.
func TestDrainWithoutWorkers(t *testing.T) {
	limiter := theirs.DefaultTypedControllerRateLimiter[int]()
	for _, q := range []theirs.TypedRateLimitingInterface[int]{
		theirs.NewTypedRateLimitingQueue(limiter), workqueue.NewTypedRateLimitingQueue(limiter),
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

func TestTwoQueuesOfOneNameHaveGroupMetrics(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(kubernetes.GroupMetrics(1))
	o := kubernetes.Options[reconcile.Request]{Queue: shardq.Options[reconcile.Request]{Group: kubernetes.ByNamespace}}
	for range 2 {
		q := kubernetes.NewQueue(o)("twice", nil)
		defer q.ShutDown()
		q.Add(request("a", 1))
	}
	_, err := r.Gather()
	require.NoError(t, err)
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

func TestDirtyItemsHaveTheirPriority(t *testing.T) {
	name := rand.Text()
	q, err := kubernetes.New(kubernetes.Options[string]{Queue: shardq.Options[string]{Name: name}})
	require.NoError(t, err)
	defer q.ShutDown()
	p := 7
	q.AddWithOpts(priorityqueue.AddOpts{Priority: &p}, "a")
	q.Get()
	q.AddWithOpts(priorityqueue.AddOpts{Priority: &p}, "a")
	require.Equal(t, 1, q.Len())
	require.Contains(t, scraped(), fmt.Sprintf(`workqueue_depth{controller=%q,name=%q,priority="7"} 1`, name, name))
}
