package kubernetes_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller"
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

func request(namespace string, number int) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(number)}}
}
