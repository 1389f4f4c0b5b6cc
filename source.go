package shardq

import (
	"context"
	"errors"
)

// A Source hands out items for [Workers] to process, as claims. A [Queue] is a Source, a
// [Coalescer] is one, and so is any other type that has this method: one that takes
// from several queues in turn, say, or from a table of a database. It is to claims what
// an [io.Reader] is to bytes.
//
// A source that passes on the claims of a Queue needs nothing else. One that has items
// of its own makes claims by [NewClaim], and is or has a [ClaimOwner]. Workers end each
// claim that they are given, once, whatever the handler does.
//
// All methods are safe for concurrent use, because each worker calls them. They are
// called with no lock held. If one panics, all workers leave, and [Workers.Run] panics
// with a [*PanicError]; claims that ClaimBatch has returned end nevertheless.
//
// A source may have more methods, which Workers look for. Those of a Queue are found in
// a struct that embeds one, too.
//
//   - Name() string is what [Failure].Queue and the label "queue" say. Without it they
//     are empty, but for claims whose owner has a name.
//   - DoneClaims([]Claim[T]) error ends the claims of a batch together, as that of
//     [Queue]. Without it they are Done one by one, and so they are if it returns an
//     error or panics.
//   - ShuttingDown() bool reports whether some worker may have been told that the source
//     is shut down. From then on [Workers.Resize] sends nobody away. A source needs it
//     if an item can become ready at the end of its own claim.
//   - NumRequeues(T) int and Forget(T), as those of [Queue], are called for items that a
//     Drain has dropped. Without them such items have had no attempt.
//   - A [Drainer] can be drained. Without it [WorkerOptions].Drain is a fault.
//   - A [Workplace] shows which worker has which item.
type Source[T any] interface {
	// ClaimBatch fills dst with claims to the items that there are, and returns how many
	// that was. It blocks until there is an item, and then does not wait for more. If it
	// returns 0 without an error, the worker calls again at once, unless ctx has ended.
	// So a source that does not block makes the worker a busy loop.
	//
	// It returns an error that wraps [ErrShutDown] if there is no item and will be none,
	// and ctx.Err() once ctx has ended. After any other error all workers leave, and Run
	// returns it. The same holds for an error of the end of a claim other than
	// [ErrClaimEnded]. Claims that come with an error are processed first. If it panics,
	// it has claimed nothing.
	//
	// A count below 0 or above len(dst), or a zero Claim, is an error that Run returns.
	// The worker releases the other claims of that call.
	//
	// Dst has room for 1 with WorkerOptions.Handle, and for BatchSize with HandleBatch.
	ClaimBatch(ctx context.Context, dst []Claim[T]) (n int, err error)
}

// A Drainer is a [Source] that [WorkerOptions].Drain can drain. See [Queue.Drain].
type Drainer[T any] interface {
	// Drain begins the shutdown, and waits until nothing is left to do. Workers go on
	// meanwhile. It returns the items that it dropped, which the workers report to
	// OnGiveUp.
	//
	// If ctx ends before that, Drain returns an error, and Run returns it, too. If the
	// error has a method Refresh() error, as [*DrainError] has, Run calls that when the
	// last worker has left, and returns what it returns.
	//
	// If Drain panics, Workers call it once more, with a context that has ended, for
	// the items that it has dropped by then.
	Drain(ctx context.Context, options DrainOptions) (dropped []T, err error)
}

// A Workplace is a [Source] that shows which worker has which item.
type Workplace[T any] interface {
	// Hire is called for each worker that begins. It returns the number of the worker,
	// for the label "worker", and two functions. The worker calls show with the items
	// that it is about to process, and with none when the handler has returned; show is
	// nil if nobody looks. It calls leave when it ends, unless leave is nil.
	//
	// Hire, show and leave are called in the worker's goroutine. If show panics or ends
	// the goroutine before the handler is called, the attempt has failed, as if the
	// handler had done that.
	Hire() (number int, show func(items []T), leave func())
}

// A FailureReporter is a [ClaimOwner] that is told of failures, to log or count them. It
// is called before the hooks of [WorkerOptions], in the goroutine of the worker. The error
// of a [Failure] may be the handler's own; panicked is the panic that it is or wraps.
type FailureReporter[T any] interface {
	// ReportFailure is told of each failed attempt.
	ReportFailure(ctx context.Context, f Failure[T], panicked *PanicError)
	// ReportDiscard is told of an item that is given up on account of its failures.
	ReportDiscard(ctx context.Context, f Failure[T], panicked *PanicError)
}

// NewSourceWorkers returns workers for a source, or an error that lists every fault of
// the options. It starts nothing. The items of a [Queue] or of a [Coalescer] are shown with
// the numbers of their workers only by [NewWorkers] and [NewCoalescerWorkers].
//
// Options that need more of the source than it has are faults: see [Source]. With
// claims whose owner does not count failures, each attempt is the first, so that
// MaxAttempts has no effect unless it is 1.
func NewSourceWorkers[T any](source Source[T], options WorkerOptions[T]) (*Workers[T], error) {
	var fault error
	if ours, is := source.(interface{ missing() bool }); source == nil || is && ours.missing() {
		fault = errors.New("shardq: NewSourceWorkers was called without a source")
	}
	return newWorkers(source, options, fault)
}

// missing is found in a struct that embeds a queue as well.
func (q *Queue[T]) missing() bool        { return q == nil }
func (c *Coalescer[K, V]) missing() bool { return c == nil }

// What a Source may have beside its methods: see there.
type (
	namedSource          interface{ Name() string }
	endingSource         interface{ ShuttingDown() bool }
	batchSource[T any]   interface{ DoneClaims([]Claim[T]) error }
	historySource[T any] interface {
		NumRequeues(T) int
		Forget(T)
	}
)

// nameOf returns the name of a source, or of the owner of a claim, or else what is given.
func nameOf(it any, otherwise string) string {
	if named, is := it.(namedSource); is {
		return named.Name()
	}
	return otherwise
}
