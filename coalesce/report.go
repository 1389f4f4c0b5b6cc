package coalesce

import "github.com/shardq/shardq/worker"

// CountsAttempts implements [worker.AttemptReporter].
func (o *owner[K, V]) CountsAttempts() bool { return o.engine.Owner.CountsAttempts() }

// ReportAttempt implements [worker.AttemptReporter]: the queue of keys counts
// the attempt.
func (o *owner[K, V]) ReportAttempt(r worker.Report[Entry[K, V]]) {
	o.engine.Owner.ReportAttempt(worker.Report[K]{
		Item: r.Item.Key, Result: r.Result, Duration: r.Duration, Worker: r.Worker,
	})
}
