package queue

import "github.com/shardq/shardq"

// PriorityOptions returns options with which a queue behaves as
// controller-runtime's priority queue. Groups take turns within a priority. If
// Shards is zero, the queue has one, so that the order is the same.
func PriorityOptions[T comparable](options shardq.Options[T]) shardq.Options[T] {
	if options.Shards == 0 {
		options.Shards = 1
	}
	options.CancelDelayOnAdd, options.DropDelayIfReady = true, true
	options.KeepPlaces, options.DiscardOnShutDown, options.PrioritiesBeforeTurns = true, true, true
	return options
}
