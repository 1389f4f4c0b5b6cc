package stats

import "time"

// Group counts the items of one group.
type Group struct {
	// Group is the name of the group.
	Group string
	// Held is the number of its items, Ready of those that are ready, and
	// Processing of those in processing. The others are delayed.
	Held, Ready, Processing int
	// Weight is the number of its items that are handed out in its turn. It is
	// 0 if the group was paused before its first item.
	Weight int
	// Limit is the number of its items that may be in processing at once.
	//
	// If zero, there is no limit.
	Limit int
	// Rate is the rate at which its items are handed out.
	//
	// If zero, there is no limit.
	Rate Rate
	// Paused reports that the group is paused. Then PausedUntil is when the
	// pause ends, or zero if it does not end by itself.
	Paused      bool
	PausedUntil time.Time
	// Throttled reports that the group has ready items, but none is handed out.
	// Reason says why.
	Throttled bool
	Reason    Throttling
	// Oldest is when its first ready item became ready, to the tick. With
	// priorities, it is the first item of the highest one.
	//
	// It is zero if nothing is ready, or the queue keeps no ages.
	Oldest time.Time
	// Shard is the number of its shard.
	Shard int
}
