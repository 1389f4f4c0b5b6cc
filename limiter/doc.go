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
// [Jitter] spreads one delay. A [Backoff] is a sequence of growing delays that
// knows no items. No delay is negative, and none overflows.
//
// The per-item limiters keep a history of each item that has failed and was not
// forgotten. If Forget may be missed, set [Options].ForgetAfter. An item such as
// a NaN gets the delay of a first failure, and has no history.
package limiter
