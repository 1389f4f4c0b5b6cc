package workqueue_test

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/kubernetes/workqueue"
)

// The loop of a controller without controller-runtime: handlers of an informer
// add keys, and workers reconcile the objects. Only the import is shardq's.
func Example() {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	handlers := cache.ResourceEventHandlerFuncs{ // for informer.AddEventHandler
		AddFunc: func(object any) {
			if key, err := cache.MetaNamespaceKeyFunc(object); err == nil {
				queue.Add(key)
			}
		},
	}
	for _, name := range []string{"web", "api", "web"} { // for this example: an informer calls it
		handlers.OnAdd(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}, false)
	}
	failures := 1
	reconcile := func(key string) error {
		if failures > 0 {
			failures--
			return errors.New("conflict")
		}
		if key == "shop/web" {
			queue.ShutDown() // for this example: the end of the program does the same
		}
		return nil
	}
	for { // in each worker
		key, shutdown := queue.Get()
		if shutdown {
			break
		}
		if err := reconcile(key); err != nil {
			fmt.Println(key, "again, after", err)
			queue.AddRateLimited(key)
		} else {
			fmt.Println(key, "is reconciled, failures:", queue.NumRequeues(key))
			queue.Forget(key)
		}
		queue.Done(key)
	}
	// Output:
	// shop/web again, after conflict
	// shop/api is reconciled, failures: 0
	// shop/web is reconciled, failures: 1
}

// Options of shardq are added to those of client-go: here, at most one object
// of a namespace at a time.
func ExampleNewTypedRateLimitingQueueWithOptions() {
	queue := workqueue.NewTypedRateLimitingQueueWithOptions(
		workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName](),
		workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{Name: "pods"},
		shardq.Options[cache.ObjectName]{
			Group:       func(pod cache.ObjectName) string { return pod.Namespace },
			GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: 1} },
		})
	for _, name := range []string{"a", "b"} {
		queue.Add(cache.NewObjectName("shop", name))
	}
	queue.Add(cache.NewObjectName("bank", "c"))
	for range 2 {
		pod, _ := queue.Get()
		fmt.Println(pod, "is in progress")
	}
	fmt.Println(queue.Len(), "waits")
	// Output:
	// shop/a is in progress
	// bank/c is in progress
	// 1 waits
}
