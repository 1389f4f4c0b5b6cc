// Package limiter decides how long work is held back before it is tried again.
//
// A [Limiter] answers for items, such as the keys of a work queue: When counts a
// failure and returns a delay, Forget ends the item's history, NumRequeues tells
// its length. These exist:
//
//   - [NewExponential]: per item, doubling with each failure
//   - [NewItemBackoff]: per item, after a [Backoff], with jitter
//   - [NewFastSlow]: per item, some quick retries and then slow ones
//   - [NewBucket]: all items together, a token bucket
//   - [NewMaxOf]: the longest delay of several limiters
//   - [NewWithMaxWait]: another limiter's delays, but bounded
//   - [DefaultController], [DefaultItemBased]: what client-go's users know as
//     the defaults
//
// A [Backoff] is a sequence of growing delays without items. A [Manager] shares
// one and starts it over after a quiet period; [Loop] runs a function again and
// again with a Manager's delays in between.
//
// Nothing here waits, except Loop, and nothing starts a goroutine. Whatever the
// parameters and however many failures, no delay is negative and none overflows.
// Functions and interfaces that are handed in, such as a clock, a random source
// or another Limiter, are called with no lock held, and their panics reach the
// caller and leave all state whole.
//
// # Histories
//
// The limiters that count per item keep a history for each item that has failed
// and was not forgotten. Items that never fail cost no memory, and Forget gives
// back all that belongs to an item. Where Forget may be missed, set
// [Options].ForgetAfter: an item that has been quiet for so long has no history
// any more, and its memory is taken back by later calls of When and Forget for
// whatever items, each of which looks at a few entries, chosen at random: it
// takes about as many calls as there are histories to find all that have
// expired. Without ForgetAfter no clock is read.
//
// When, Forget and NumRequeues take constant time and, on items that are known,
// allocate nothing; a table that grows or shrinks is rebuilt one stripe of many
// at a time, while the others go on. Counts stop at 2³¹−1. Items are found by a
// hash with a random seed, so choosing them in bad faith makes nothing slower.
//
// An item that is not equal to itself (a NaN, or what contains one) could never
// be found again: it gets the delay of a first failure, and is not kept. An item
// whose dynamic type cannot be compared, such as a slice in an interface, makes
// the per-item limiters panic, as it would a map.
package limiter
