// Package limiter computes how long failed work is delayed before it is tried
// again.
//
// A [Limiter] serves items, such as the keys of a work queue. When counts a
// failure and returns a delay, NumRequeues returns the number of failures, and
// Forget deletes the item's history. The package has these limiters:
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
// shares one Backoff among callers and restarts it after a quiet period. [Loop]
// calls a function repeatedly, with a Manager's delays in between.
//
// Only Loop waits. Nothing in this package starts a goroutine. No delay is
// negative and none overflows, for any parameters and any number of failures.
//
// The package calls the functions and interfaces of its caller, such as a
// clock, a random source or another Limiter, with no lock held. Their panics
// reach the caller and leave all state consistent.
//
// # Histories
//
// The limiters that count per item keep a history of each item that has failed
// and was not forgotten. Items that never fail use no memory, and Forget frees
// all memory of an item.
//
// If Forget may be missed, set [Options].ForgetAfter. A history then expires
// when its item has been quiet for that long after its last delay. Later calls
// of When and Forget, for any item, free the memory of expired histories. Each
// call examines a few entries, chosen at random, so finding all expired
// histories takes about as many calls as there are histories. Without
// ForgetAfter, no clock is read.
//
// When, Forget and NumRequeues take constant time. For items that have a
// history they allocate nothing. A table that grows or shrinks rebuilds one of
// its many stripes at a time, while the others stay in use. Counts stop at
// 2³¹−1. Items are hashed with a random seed, so an adversary cannot choose
// items that collide.
//
// An item that is not equal to itself, such as a NaN, cannot be found again. It
// gets the delay of a first failure and has no history. An item whose dynamic
// type is not comparable, such as a slice in an interface, makes the per-item
// limiters panic, as a map does.
package limiter
