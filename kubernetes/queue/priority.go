package queue

import "github.com/shardq/shardq"

// PriorityOptions returns options with which a queue behaves as
// controller-runtime's priority queue: an item has at most one run to come,
// whose place is that of the add that asked for it, and ShutDown discards what
// is ready. Groups, if there are any, take turns within a priority. Unless the
// options say how many, the queue has one shard, so that the order is the same,
// too.
func PriorityOptions[T comparable](options shardq.Options[T]) shardq.Options[T] {
	if options.Shards == 0 {
		options.Shards = 1
	}
	options.CancelDelayOnAdd, options.DropDelayIfReady = true, true
	options.KeepPlaces, options.DiscardOnShutDown, options.PrioritiesBeforeTurns = true, true, true
	return options
}
