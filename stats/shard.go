package stats

import "time"

// Shard counts the items of one shard.
type Shard struct {
	// Ready, Processing, Delayed and Held count items: those that are ready, in
	// processing, delayed, and all distinct ones. A delayed item may be ready
	// or in processing as well.
	Ready, Processing, Delayed, Held int
	// Added counts the adds that asked for a run.
	Added uint64
	// OldestReady is how long the first ready item, of the highest priority,
	// has been ready, to the tick. With groups, it is the longest of at most 64
	// groups. It is 0 if nothing is ready, or the queue keeps no ages.
	OldestReady time.Duration
	// OldestProcessing is how long the longest has been in processing, to the
	// tick. It is 0 if nothing is, or the queue keeps no ages.
	OldestProcessing time.Duration
}
