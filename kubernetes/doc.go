// Package kubernetes puts a shardq queue into a controller of
// controller-runtime:
//
//	ctrl.NewControllerManagedBy(manager).For(&v1.Invoice{}).
//		WithOptions(controller.Options{
//			NewQueue: kubernetes.NewQueue(kubernetes.Options[reconcile.Request]{}),
//		}).
//		Complete(reconciler)
//
// The controller then behaves as with its own priority queue, with the same
// workqueue_* metrics. [Options].Queue adds the options of shardq, such as
// groups that take turns: [ByNamespace]. [Handler] serves a live page.
//
// Package workqueue is for programs that use client-go's queues.
package kubernetes
