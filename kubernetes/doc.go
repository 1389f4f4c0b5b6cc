// Package kubernetes puts a shardq queue into a controller of
// controller-runtime:
//
//	ctrl.NewControllerManagedBy(manager).For(&v1.Invoice{}).
//		WithOptions(controller.Options{
//			NewQueue: kubernetes.NewQueue(kubernetes.Options[reconcile.Request]{}),
//		}).
//		Complete(reconciler)
//
// The controller then behaves as with its own priority queue: with the same
// priorities, the same order, the same end, and the same workqueue_* metrics on
// controller-runtime's registry. The tests of controller-runtime's priority
// queue pass over it, and all programs of up to five calls over two items and
// two priorities have the same results.
//
// What it adds is in [Options].Queue, the options of a shardq queue: groups
// that take turns, such as [ByNamespace], with a limit for each; a hook for
// objects that are stuck; more shards. [Handler] serves a live page about all
// such queues.
//
// Package workqueue, in this module, is for programs that use client-go's
// queues.
package kubernetes
