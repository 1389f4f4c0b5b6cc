// Package queue is a shardq queue as Kubernetes' controllers use one. The
// packages workqueue and kubernetes of this module give it the names and types
// of client-go and of controller-runtime.
//
// A Queue pushes its figures to an [Observer] as things happen, as those
// libraries do, where a shardq queue is read. It takes a clock of k8s.io/utils:
// see [FromClock].
//
// The package imports neither client-go nor controller-runtime, so that the
// tests of both can run over it.
package queue
