// Package stats has the plain types in which a queue describes itself. It has
// no locks and knows no queue.
//
// Most are fields of [Stats] and of a [Snapshot]. A [Histogram] counts
// durations by their lengths. A [Recorder] fills one, and a [Sample] estimates
// one from a part of the durations.
//
// # The buckets of a histogram
//
// Every histogram has the same 404 buckets, so two of them can be added and
// subtracted. Their bounds are those of a native Prometheus histogram of schema
// 3, eight to each doubling, from a nanosecond to 2²⁰ s (twelve days). A
// quantile exceeds the true value by at most 9 %. Each power of ten from 10 ns
// to 1000 s is a bound as well, so the buckets that controller-runtime exports
// can be read from it exactly. Longer durations are in one last bucket.
package stats
