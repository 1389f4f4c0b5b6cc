package kubernetes_test

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/kubernetes"
)

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
