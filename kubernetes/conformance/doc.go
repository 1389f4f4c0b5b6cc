// Package conformance runs the peers' tests over the queues of this module, and
// compares them with controller-runtime's call by call.
package conformance
