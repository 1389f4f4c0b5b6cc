package kubernetes_test

import (
	"strconv"
	"testing"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shardq/shardq/kubernetes"
)

// BenchmarkCycle is an Add, the Get and the Done of one goroutine, on the queue of
// this package and on both peers', with the metrics that each has in a manager.
func BenchmarkCycle(b *testing.B) {
	limiter := workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()
	items := make([]reconcile.Request, 1000)
	for i := range items {
		items[i] = request("namespace-"+strconv.Itoa(i%20), i)
	}
	for name, open := range map[string]func(name string) workqueue.TypedRateLimitingInterface[reconcile.Request]{
		"shardq": func(name string) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			return kubernetes.NewQueue(kubernetes.Options[reconcile.Request]{})(name, limiter)
		},
		"controller-runtime": func(name string) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			return priorityqueue.New[reconcile.Request](name)
		},
		"client-go": func(name string) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			return workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
				workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Name: name})
		},
	} {
		b.Run("queue="+name, func(b *testing.B) {
			q := open(b.Name())
			defer q.ShutDown()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				q.Add(items[i%len(items)])
				item, _ := q.Get()
				q.Done(item)
			}
		})
	}
}
