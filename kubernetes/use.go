package kubernetes

import "sigs.k8s.io/controller-runtime/pkg/controller"

// Use sets NewQueue of a controller's options to [NewQueue], with NoPriorities
// if they have UsePriorityQueue: false. It sees that of the manager only after
// of.DefaultFromConfig(mgr.GetControllerOptions()). A function of a program that
// has many controllers can call it for all of them.
func Use[T comparable](of *controller.TypedOptions[T], options Options[T]) {
	if use := of.UsePriorityQueue; use != nil && !*use {
		options.NoPriorities = true
	}
	of.NewQueue = NewQueue(options)
}
