// Package conformance runs the tests of client-go's and of controller-runtime's
// queues over the queues of this module, and compares the latter with
// controller-runtime's call by call.
package conformance
