package kubernetes_test

import (
	"strconv"
	"testing"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shardq/shardq/kubernetes"
)

// eachQueue runs a benchmark on the queue of this package and on both peers',
// with the metrics that each has in a manager.
func eachQueue(b *testing.B, run func(b *testing.B, q workqueue.TypedRateLimitingInterface[reconcile.Request])) {
	limiter := func() workqueue.TypedRateLimiter[reconcile.Request] {
		return workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()
	}
	for name, open := range map[string]func(name string) workqueue.TypedRateLimitingInterface[reconcile.Request]{
		"shardq": func(name string) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			return kubernetes.NewQueue(kubernetes.Options[reconcile.Request]{})(name, limiter())
		},
		"controller-runtime": func(name string) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			return priorityqueue.New[reconcile.Request](name)
		},
		"client-go": func(name string) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			return workqueue.NewTypedRateLimitingQueueWithConfig(limiter(),
				workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Name: name})
		},
	} {
		b.Run("queue="+name, func(b *testing.B) {
			q := open(b.Name())
			defer q.ShutDown()
			b.ReportAllocs()
			run(b, q)
		})
	}
}

func manyRequests(n int) []reconcile.Request {
	all := make([]reconcile.Request, n)
	for i := range all {
		all[i] = request("namespace-"+strconv.Itoa(i%20), i)
	}
	return all
}

// BenchmarkCycle is an Add, the Get and the Done of one goroutine.
func BenchmarkCycle(b *testing.B) {
	items := manyRequests(1000)
	eachQueue(b, func(b *testing.B, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		for i := 0; b.Loop(); i++ {
			q.Add(items[i%len(items)])
			item, _ := q.Get()
			q.Done(item)
		}
	})
}
