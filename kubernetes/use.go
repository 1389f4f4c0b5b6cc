package kubernetes

import "sigs.k8s.io/controller-runtime/pkg/controller"

// Use sets NewQueue of a controller's options to [NewQueue], with NoPriorities if
// they have UsePriorityQueue: false. Call
// of.DefaultFromConfig(mgr.GetControllerOptions()) before Use, which otherwise does
// not see what the manager has. A function of a program that has many controllers
// can call it for all of them.
func Use[T comparable](of *controller.TypedOptions[T], options Options[T]) {
	if use := of.UsePriorityQueue; use != nil && !*use {
		options.NoPriorities = true
	}
	of.NewQueue = NewQueue(options)
}
