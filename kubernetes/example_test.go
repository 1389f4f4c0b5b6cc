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
	options := controller.Options{NewQueue: kubernetes.NewQueue(kubernetes.Options[reconcile.Request]{
		Queue: shardq.Options[reconcile.Request]{Group: kubernetes.ByNamespace},
	})}
	queue := options.NewQueue("invoices", nil) // a controller does this, and the rest
	for i, namespace := range []string{"big", "big", "big", "small"} {
		queue.Add(request(namespace, i))
	}
	for range 3 {
		next, _ := queue.Get()
		fmt.Println(next)
	}
	// Output:
	// big/0
	// small/3
	// big/1
}

// A function makes the options of all controllers. One of them wants no
// priorities.
func ExampleUse() {
	no := false
	for name, options := range map[string]controller.Options{
		"invoices": {},
		"mails":    {UsePriorityQueue: &no},
	} {
		kubernetes.Use(&options, kubernetes.Options[reconcile.Request]{
			Queue: shardq.Options[reconcile.Request]{Group: kubernetes.ByNamespace},
		})
		queue := options.NewQueue(name, nil) // for this example: the controller does that
		_, priorities := queue.(priorityqueue.PriorityQueue[reconcile.Request])
		fmt.Println(name, "has priorities:", priorities)
		queue.ShutDown()
	}
	// Unordered output:
	// invoices has priorities: true
	// mails has priorities: false
}

func request(namespace string, number int) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(number)}}
}
