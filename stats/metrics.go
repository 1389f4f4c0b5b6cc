package stats

import "time"

// Metrics are the figures that a queue keeps only if it is asked to. Seven
// series have the meaning that they have in client-go's workqueue: Depth,
// Retries, QueueDuration, WorkDuration, Unfinished, LongestRunning, and the
// Added of the queue's Stats.
type Metrics struct {
	// Depth is what client-go calls depth: the ready items, as in the queue's
	// Stats, plus the dirty items. A dirty item becomes ready at its Done.
	Depth int
	// Dirty is the number of dirty items.
	Dirty int
	// Retries counts the adds that named a delay or asked the limiter for one,
	// whatever the delay was. Backoffs counts those that asked the limiter,
	// because work had failed. Neither changes after a shutdown has begun.
	Retries, Backoffs uint64
	// QueueDuration is how long items waited to be handed out. It starts with
	// the first add that the run serves, so it includes the time that the item
	// was in processing before.
	QueueDuration Histogram
	// WorkDuration is how long items were in processing. It is counted at their
	// Done.
	WorkDuration Histogram
	// Delay is how long the delays were that were asked for, as far as they
	// were positive. Each call counts, also if the item was delayed already.
	Delay Histogram
	// Unfinished is how long the items in processing have been so, added
	// together. It is at most [math.MaxInt64]. LongestRunning is the time of
	// the longest.
	//
	// After a shutdown has begun, neither changes any more, as in client-go.
	// See [Shard].OldestProcessing.
	Unfinished, LongestRunning time.Duration
	// Attempts has how long the attempts of workers took, by their results. It
	// counts the attempts of a worker.Pool, and not those of consumers that
	// call Get or Claim themselves.
	//
	// The durations are of real time. An item of a batch has the duration of
	// the whole batch.
	Attempts Attempts
}
