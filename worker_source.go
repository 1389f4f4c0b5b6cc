package shardq

import (
	"context"
	"time"

	"github.com/shardq/shardq/shard"
)

// A workerSource is what [Workers] take from, and what they owe it: a Queue, or a Coalescer.
type workerSource[T any] interface {
	// name is that of the queue.
	name() string

	// take returns what is ready, with its origin, as Queue.GetContext does. The item is
	// in processing until done.
	take(ctx context.Context) (item T, from origin, err error)

	// takeBatch is take for as many as there is room for, and at least one.
	takeBatch(ctx context.Context, items []T, from origins) (n int, err error)

	// succeeded is forget and then done, also if forget panics: what most items come to, in one
	// call.
	succeeded(item T, from origin)

	// done ends a processing, and nothing else: what is to come of the item is settled
	// before. If a hook or the clock panics, it is done.
	done(item T, from origin)
	doneBatch(items []T, from origins)

	// takesBack reports whether an item in processing can be given back.
	takesBack(item T) bool
	// giveBack has an item in processing come again after a delay; its done is still owed.
	// Or else it calls refused, because a shutdown has begun: one of the two, also if user
	// code panics.
	giveBack(item T, from origin, delay time.Duration, refused func())

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

	// drain drains, and returns why it gave up, or nil. It appends what it dropped to
	// dropped, also if user code panics.
	drain(ctx context.Context, options DrainOptions, dropped *[]T) (cause error)
	// drained logs the end of a drain. If that gave up, it returns what is left.
	drained(ctx context.Context, cause error) error
}

// An origin is what a worker has to know of an item to have it come again, and to end
// its processing, without calling user code.
type origin struct {
	priority int // with which the item came, and is to come again
	at       shard.Handle
}

// origins are those of the items of a batch.
type origins struct {
	priorities []int
	at         []shard.Handle
}

func newOrigins(n int) origins { return origins{make([]int, n), make([]shard.Handle, n)} }

func (o origins) of(i int) origin { return origin{o.priorities[i], o.at[i]} }

func (o origins) first(n int) origins { return origins{o.priorities[:n], o.at[:n]} }

// A workerDesk is a desk that shows what a worker of whatever source has in hand.
type workerDesk[T any] interface {
	// label returns the worker's number.
	label() int
	// show shows these items, in place of those before.
	show(items []T)
	// clear is called when the worker leaves.
	clear()
}
