package stats

import "time"

// Metrics are the figures that a queue keeps only if it is asked to. Depth,
// Retries, QueueDuration, WorkDuration, Unfinished and LongestRunning have the
// meaning that they have in client-go's workqueue.
type Metrics struct {
	// Depth is the number of ready and of dirty items. A dirty item becomes
	// ready at its Done.
	Depth, Dirty int
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
	// Delay is how long the positive delays were that were asked for. Each call
	// counts, also if the item was delayed already.
	Delay Histogram
	// Unfinished is how long the items in processing have been so, added
	// together. LongestRunning is the time of the longest. After a shutdown has
	// begun, neither changes any more, as in client-go.
	Unfinished, LongestRunning time.Duration
	// Attempts has how long the attempts of a worker.Pool took, by their
	// results, in real time. An item of a batch has the duration of the whole
	// batch.
	Attempts Attempts
}
