package stats

import (
	"fmt"
	"time"
)

// A State is the state of an item in a queue. An item that a queue does not
// hold is idle, and has no State.
type State uint8

const (
	// Ready is the state of an item that a Get returns, as soon as its group is
	// not throttled.
	Ready State = iota + 1
	// Processing is the state of an item between its Get and its Done.
	Processing
	// Delayed is the state of an item whose delay is running, and that is
	// neither ready nor in processing.
	Delayed
)

// String returns the name of the state in lower case.
func (s State) String() string {
	switch s {
	case Ready:
		return "ready"
	case Processing:
		return "processing"
	case Delayed:
		return "delayed"
	default:
		return fmt.Sprintf("State(%d)", uint8(s))
	}
}

// Item describes an item of a queue at one moment.
type Item[T comparable] struct {
	Item  T
	State State
	// Dirty reports that the item is in processing, and was added again since.
	// It becomes ready at its Done.
	Dirty bool
	// Since is when the item came into its state, to the tick. It is zero if
	// the queue keeps no ages.
	Since time.Time
	// Deadline is when the item's delay expires. An item that is ready or in
	// processing may have a delay as well. It is zero if no delay is running.
	Deadline time.Time
	// Priority is the priority of the item's next run, as far as it is known. A
	// ready item with a delay shows the priority with which it is ready. An
	// item in processing that is not dirty shows 0.
	Priority int
	// Attempts is how often the item was requeued since it was last forgotten,
	// according to the queue's limiter.
	Attempts int
	Shard    int    // the number of the item's shard
	Group    string // empty if the queue has no groups
	// Worker is the number of the worker that processes the item. It is 0 if
	// none does, or the queue keeps no metrics.
	Worker int
}

// Any returns i with its item as an any.
func (i Item[T]) Any() Item[any] {
	return Item[any]{
		Item: i.Item, State: i.State, Dirty: i.Dirty, Since: i.Since, Deadline: i.Deadline,
		Priority: i.Priority, Attempts: i.Attempts, Shard: i.Shard, Group: i.Group, Worker: i.Worker,
	}
}
