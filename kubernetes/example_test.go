package kubernetes_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/kubernetes"
)

func ExampleNewQueue() {
	options := controller.Options{
		NewQueue: kubernetes.NewQueue(kubernetes.Options[reconcile.Request]{
			Queue: shardq.Options[reconcile.Request]{Group: kubernetes.ByNamespace, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: 2} }},
		}),
	}
	// A controller does the rest. Here is what it does with its queue:
	queue := options.NewQueue("invoices", nil).(priorityqueue.PriorityQueue[reconcile.Request])
	low := -100 // of the initial list
	for i := range 3 {
		queue.AddWithOpts(priorityqueue.AddOpts{Priority: &low}, request("big", i))
	}
	queue.AddWithOpts(priorityqueue.AddOpts{Priority: &low}, request("small", 0))
	queue.Add(request("big", 7)) // changed
	for range 3 {
		next, priority, _ := queue.GetWithPriority()
		fmt.Println(next, priority)
	}
	// Two of big are being reconciled, and the limit lets no third one follow.
	fmt.Println(queue.Len(), "are in line")
	queue.ShutDown()
	// Output:
	// big/7 0
	// small/0 -100
	// big/0 -100
	// 2 are in line
}

func request(namespace string, number int) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(number)}}
}
