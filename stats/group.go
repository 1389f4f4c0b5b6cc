package stats

import "time"

// Group counts the items of one group.
type Group struct {
	Group string // its name
	// Held is the number of its items, Ready of those that are ready, and
	// Processing of those in processing. The others are delayed.
	Held, Ready, Processing int
	// Weight is the number of its items that are handed out in its turn. It is
	// 0 if the group was paused before its first item.
	Weight int
	// Limit is the number of its items that may be in processing at once. If
	// zero, there is no limit.
	Limit int
	Rate  Rate
	// Paused reports that the group is paused. Then PausedUntil is when the
	// pause ends, or zero if it does not end by itself.
	Paused      bool
	PausedUntil time.Time
	// Throttled reports that the group has ready items, but none is handed out.
	// Reason says why.
	Throttled bool
	Reason    Throttling
	// Oldest is when its first ready item, of the highest priority, became
	// ready, to the tick. It is zero if nothing is ready, or the queue keeps no
	// ages.
	Oldest time.Time
	Shard  int // the number of its shard
}
