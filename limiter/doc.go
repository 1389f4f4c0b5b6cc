// Package limiter computes how long failed work is delayed before it is tried
// again.
//
// A [Limiter] serves items, such as the keys of a work queue:
//
//   - [NewExponential]: per item, doubling with each failure
//   - [NewItemBackoff]: per item, following a [Backoff], with jitter
//   - [NewFastSlow]: per item, some quick retries and then slow ones
//   - [NewBucket]: all items together, a token bucket
//   - [NewMaxOf]: the longest delay of several limiters
//   - [NewWithMaxWait]: the delays of another limiter, with an upper bound
//   - [DefaultController], [DefaultItemBased]: the defaults of client-go
//
// A [Backoff] is a sequence of growing delays that knows no items. A [Manager]
// shares one Backoff among callers, and [Loop] calls a function repeatedly,
// with a Manager's delays in between.
//
// Only Loop waits. No delay is negative and none overflows. The package starts
// no goroutine, and calls code of its caller, such as a clock, with no lock
// held. A panic of that code leaves all state consistent.
//
// # Histories
//
// The per-item limiters keep a history of each item that has failed and was not
// forgotten. Forget frees its memory. If Forget may be missed, set
// [Options].ForgetAfter.
//
// Forget and NumRequeues of an item without a history take no lock. Counts stop
// at 2³¹−1. Items are hashed with a random seed, so an adversary cannot choose
// items that collide.
//
// An item that is not equal to itself, such as a NaN, cannot be found again. It
// gets the delay of a first failure and has no history. An item whose dynamic
// type is not comparable, such as a slice in an interface, makes the per-item
// limiters panic, as a map does.
package limiter
