package shardq

import (
	"context"
	"time"
)

// A workerSource is what [Workers] take from, and what they owe it: a Queue, or a Coalescer.
type workerSource[T any] interface {
	// name is that of the queue.
	name() string

	// take returns what is ready, with its priority, as Queue.GetContext does. The item is
	// in processing until done.
	take(ctx context.Context) (item T, priority int, err error)

	// takeBatch is take for as many as there is room for, and at least one.
	takeBatch(ctx context.Context, items []T, priorities []int) (n int, err error)

	// succeeded is forget and then done, also if forget panics: what most items come to, in one
	// call.
	succeeded(item T)

	// done ends a processing, and nothing else: whatever is to come of the item is settled
	// before.
	done(item T)
	doneBatch(items []T)

	// giveBack has an item in processing come again, after the delay that is asked for;
	// its done is still owed. If a shutdown has begun, which nobody may have seen when the
	// delay was asked for, refused is called instead, or as well, if that cannot be told. If
	// after panics, the item comes at once.
	giveBack(item T, priority int, after func() time.Duration, refused func())

	// The limiter's history of the item: its delay for one more failure, the number of
	// failures, and its end.
	backOff(item T) time.Duration
	failures(item T) int
	forget(item T)

	// gaveUp counts an item that is given up.
	gaveUp()

	// log is where failures are logged, or nil.
	log() *logbook
	// key is what a log calls an item.
	key(item T) any

	// shuttingDown reports whether some worker may have been told of a shutdown.
	shuttingDown() bool

	// newDesk returns where another worker shows what it has in hand, and showing reports
	// whether anybody wants to know.
	newDesk() workerDesk[T]
	showing() bool

	// drain drains, and returns what nobody was told of when it was dropped.
	drain(ctx context.Context, options DrainOptions) (dropped []T, err error)
}

// A workerDesk is a desk that shows what a worker of whatever source has in hand.
type workerDesk[T any] interface {
	// label returns the worker's number.
	label() int
	// show shows these items, in place of those before.
	show(items []T)
	// clear is called when the worker leaves.
	clear()
}
