package shardq

import (
	"iter"

	"github.com/shardq/shardq/stats"
)

// InspectItems is [Queue.All] with items of any type, for a page that searches.
// The rows of items in processing have the numbers of their workers.
func (q *Queue[T]) InspectItems(state stats.State) iter.Seq[stats.Item[any]] {
	return func(yield func(stats.Item[any]) bool) {
		var workers map[T]int
		if state == stats.Processing {
			workers = q.slots.workers()
		}
		for i := range q.All(state) {
			i.Worker = workers[i.Item]
			if !yield(i.Any()) {
				return
			}
		}
	}
}

// InspectItem is [Queue.Lookup] with an item of any type. It reports false for
// an item of another type than the queue's. An item in processing has the
// number of its worker, and the time also grows with the number of workers.
func (q *Queue[T]) InspectItem(item any) (found stats.Item[any], ok bool) {
	typed, ok := item.(T)
	if !ok {
		return found, false
	}
	info, ok := q.Lookup(typed)
	if ok && info.State == stats.Processing {
		info.Worker = q.slots.workers()[typed]
	}
	return info.Any(), ok
}

// InspectItems is [Queue.InspectItems].
func (v View[T]) InspectItems(state stats.State) iter.Seq[stats.Item[any]] {
	return v.queue.InspectItems(state)
}

// InspectItem is [Queue.InspectItem].
func (v View[T]) InspectItem(item any) (found stats.Item[any], ok bool) {
	return v.queue.InspectItem(item)
}

// An Operator changes single items of a queue of any type, for a page with
// actions: see [Queue.Operator], and Controls in package coalesce. Its methods
// do nothing, and return the zero value, for an item of another type than the
// queue's. They are safe for concurrent use.
type Operator interface {
	// RetryNow makes a delayed item ready at once, or dirty if it is in
	// processing, with its priority, as the end of the delay does. It reports
	// false if no delay of the item was running. What the limiter keeps of the
	// item stays.
	RetryNow(item any) bool
	// Cancel is [Queue.Cancel]. For a coalescer, it also drops the pending
	// value.
	Cancel(item any) Canceled
}

// Operator returns an Operator of the queue. A [View] has none, because it only
// reads.
func (q *Queue[T]) Operator() Operator { return operator[T]{q} }

type operator[T comparable] struct{ queue *Queue[T] }

func (o operator[T]) RetryNow(item any) bool {
	typed, ok := item.(T)
	if !ok {
		return false
	}
	return o.queue.shards.EndDelay(typed)
}

func (o operator[T]) Cancel(item any) Canceled {
	typed, ok := item.(T)
	if !ok {
		return Canceled{}
	}
	return o.queue.Cancel(typed)
}
