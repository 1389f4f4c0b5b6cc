package stats

// Group counts the items of one group.
type Group struct {
	// Group is the name of the group.
	Group string
	// Held is the number of its items, Ready of those that are ready, and
	// Processing of those in processing. The others are delayed.
	Held, Ready, Processing int
	// Weight is the number of its items that are handed out in its turn.
	Weight int
	// Throttled reports that the group has ready items, but as many in
	// processing as its limit allows.
	Throttled bool
	// Shard is the number of its shard.
	Shard int
}
