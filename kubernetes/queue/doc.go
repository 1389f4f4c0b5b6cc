// Package queue is a shardq queue as Kubernetes' controllers use one. The
// packages workqueue and kubernetes of this module give it the names and types
// of client-go and of controller-runtime.
//
// A [Queue] pushes its figures to an [Observer], as those libraries do. The
// package imports neither of them, so that the tests of both can run over it.
package queue
