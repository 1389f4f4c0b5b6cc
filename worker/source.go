package worker

import (
	"context"
	"sync/atomic"

	"github.com/shardq/shardq/stats"
)

// A Source hands out claims to items. A queue and a coalescer are sources. So is
// any type with this method, such as a table of a database. Workers call all
// methods concurrently, with no lock held. A [Pool] also uses the following
// methods, if the source has them. A queue has all of them, and so has a struct
// that embeds one:
//
//   - Name() string, for [Failure].Queue and the label "queue";
//   - DoneClaims([]Claim[T]) error, to end the claims of a batch together;
//   - ShuttingDown() bool, needed if an item can become ready at the end of its
//     own claim;
//   - NumRequeues(T) int and Forget(T), for the items that Drain has dropped.
type Source[T any] interface {
	// ClaimBatch fills dst with claims to items that are ready, and returns how
	// many there are. It blocks until there is one item, and then does not wait
	// for more. It returns an error that wraps [ErrShutDown] if nothing is
	// ready or can become ready, and ctx.Err() after ctx has ended. After any
	// other error all workers leave, and Run returns it. Claims that come with
	// an error are processed first.
	ClaimBatch(ctx context.Context, dst []Claim[T]) (n int, err error)
}

// Slots is a [Source] that shows which worker has which item, as a queue does.
type Slots[T any] interface {
	// OpenSlot returns the worker's number, for the label "worker", and two
	// functions, which may be nil. The worker calls show with the items that it
	// is about to process, and with none when the handler has returned. It calls
	// closeSlot when it leaves.
	OpenSlot() (number int, show func(items []T), closeSlot func())
}

// A Reporter is an [Owner] that logs or counts failures. Workers call its
// methods before the hooks of [Options]. Panicked is the panic that the error
// of the Failure is or wraps, or nil. A Reporter may also have a method
// ReportSuccess(context.Context), for the first success after a failure.
type Reporter[T any] interface {
	ReportFailure(ctx context.Context, f Failure[T], panicked *PanicError)
	// ReportDiscard is called if an item is discarded because of its failures.
	ReportDiscard(ctx context.Context, f Failure[T], panicked *PanicError)
}

// The methods that a Source or an Owner may have in addition. What has a type
// parameter is an alias, because each program compiles the methods of a type.
type (
	successReporter interface{ ReportSuccess(context.Context) }
	namedSource     interface{ Name() string }
	endingSource    interface{ ShuttingDown() bool }
	countedSource   interface{ Stats() stats.Stats }
	waitSource      interface{ KeepWaits() }
	failingSource   interface{ Failing() *atomic.Bool } // of all crews of a queue: see crew.failing
	// NextOf returns nil if the source is another one that embeds it.
	nextSource[T any] = interface {
		NextOf(source any) (doneAndNext func(claim *Claim[T]) (more bool, err error))
	}
	lingerSource  interface{ Ending() context.Context }
	contextSource interface {
		HandlerContext(context.Context) context.Context
	}
	inspectedSource interface{ Inspect() stats.Inspection }
	leaver[T any]   = interface {
		// LeaveClaim ends the claim of an item that Run has abandoned, or whose
		// OnDiscard has not returned. It does what DoneClaim does, but the item
		// is not done.
		LeaveClaim(item T, token Token) error
	}
	batchSource[T any]   = interface{ DoneClaims([]Claim[T]) error }
	holdingSource[T any] = interface{ Holds(T) bool } // in any state
	historySource[T any] = interface {
		NumRequeues(T) int
		Forget(T)
	}
)

// part returns what has the methods of P: the source itself, or what its
// Inspect returns, as with a queue.
func part[P any](source any) (p P, ok bool) {
	if p, ok = source.(P); ok {
		return p, true
	}
	if inspected, is := source.(inspectedSource); is {
		p, ok = inspected.Inspect().(P)
	}
	return p, ok
}

// nameFor returns the name of what has it, or else of the crew, if there is one.
func (c *crew) nameFor(it any) (name string) {
	if named, is := it.(namedSource); is {
		return named.Name()
	}
	if c != nil {
		name = c.name
	}
	return name
}
