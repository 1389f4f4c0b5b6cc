package shard

import (
	"fmt"
	"time"
)

// A State is where an item of a queue is.
type State uint8

const (
	// Ready: a Get would return the item, unless it is held back.
	Ready State = iota + 1
	// Processing: the item was handed out, and is not Done.
	Processing
	// Waiting: a delay of the item is running, and it is in no other state.
	Waiting
)

// String returns the state's name, in lower case.
func (s State) String() string {
	switch s {
	case Ready:
		return "ready"
	case Processing:
		return "processing"
	case Waiting:
		return "waiting"
	default:
		return fmt.Sprintf("State(%d)", uint8(s))
	}
}

// Info is what a queue knows of an item.
type Info[T comparable] struct {
	Item  T
	State State
	// Dirty: the item is in processing, and will be ready once more after that.
	Dirty bool
	// Since is when the item came into its state, to the tick; zero if the queue keeps
	// no ages. An item that waits may have been given another deadline since.
	Since time.Time
	// Deadline is when the delay of the item ends; zero if it does not wait. An item
	// that is ready or in processing may wait at the same time.
	Deadline time.Time
	// Priority is the priority of the item's next run, as far as it is known: 0 for an item
	// in processing that is not dirty. Of an item that waits and is ready, it is that with
	// which it is ready.
	Priority int
	// Attempts is how often the item was requeued, according to the limiter.
	Attempts int
	// Shard is the number of the item's shard.
	Shard int
	// Group is the item's group, if the queue has groups.
	Group string
	// Worker is the number of the worker that has the item, if a Run has it and metrics are kept;
	// otherwise 0.
	Worker int
}

// Any returns i with its item as an any.
func (i Info[T]) Any() Info[any] {
	return Info[any]{
		Item: i.Item, State: i.State, Dirty: i.Dirty, Since: i.Since, Deadline: i.Deadline,
		Priority: i.Priority, Attempts: i.Attempts, Shard: i.Shard, Group: i.Group, Worker: i.Worker,
	}
}

// info copies what there is to know of an entry.
func (sh *shard[T]) info(id uint32) Info[T] {
	e := sh.table.at(id)
	i := Info[T]{Item: e.item, State: e.phase().state(), Dirty: e.phase() == dirty, Shard: int(sh.number)}
	if e.waiting() {
		i.Deadline = sh.set.time.at(sh.due(id))
	}
	if sh.table.wishes != nil {
		i.Priority = sh.priorityOf(id, e)
	}
	if sh.groups != nil {
		i.Group = sh.groups.names.at(sh.groupOf(id)).item
	}
	if t := sh.table.times; t != nil {
		i.Since = sh.set.time.moment(t.of(id))
	}
	return i
}

// state returns what the phase is called outside.
func (p phase) state() State {
	return [phases]State{idle: Waiting, ready: Ready, processing: Processing, dirty: Processing}[p]
}

// walkReady visits the ready items, those of one group after those of another.
func (sh *shard[T]) walkReady(visit func(id uint32) bool) {
	if sh.groups == nil {
		sh.ready.walk(sh.table, visit)
		return
	}
	for id := range sh.groups.inOrder() {
		if !sh.groups.at(id).ready.walk(sh.table, visit) {
			return
		}
	}
}

func (sh *shard[T]) due(id uint32) uint64 {
	deadline, _ := sh.wheel.Deadline(id)
	return deadline
}
