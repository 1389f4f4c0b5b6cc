package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"time"
)

// MaxBatchSize is the greatest [Options].BatchSize.
const MaxBatchSize = 1 << 20

// Options configure a [Pool]. [New] reads them once.
//
// Only the source counts attempts. A queue asks its limiter: the number of an
// attempt is NumRequeues plus one. So the count includes every AddRateLimited,
// and it goes on in another Pool of the same queue. Some limiters do not count
// per item, such as a limiter.Bucket alone. With them every attempt is the
// first.
//
// Workers call the hooks OnError, OnDiscard and OnLeftover in their own
// goroutines, between the end of the attempt and the end of the claim, with no
// lock held. Their context has the values of the context of Run, and does not
// end: a hook may still write what it has to when a shutdown has ended all
// other contexts. A hook that may block must set a timeout. The hooks
// must be safe for concurrent use. They may use the source and the Pool. The
// item waits for them. [Pool.Run] says what happens if a hook panics.
type Options[T any] struct {
	// Workers is the number of workers that Run starts: 1 or more. See
	// [Pool.Resize].
	Workers int

	// Handle processes an item. Its error says what happens to the item: see
	// the package documentation. Set either Handle or HandleBatch.
	Handle func(ctx context.Context, item T) error

	// Use wraps Handle. The first middleware is the outermost: it is called
	// first, and returns last. It costs an allocation for each attempt, because
	// the contexts have an [Attempt].
	//
	// It must be empty with HandleBatch: middleware wraps the handling of one
	// item.
	Use []Middleware[T]

	// Attempts makes [AttemptOf] work without Use. It costs an allocation for
	// each attempt. It must be false with HandleBatch.
	Attempts bool

	// HandleBatch processes 1 to BatchSize items: those that are ready. It
	// waits for more only with Linger. It returns nil if all succeeded, or else
	// one error for each item, in their order, with the meaning that it has for
	// Handle. [FailAll], [FailFrom] and [FailSome] make such a result. If the
	// length differs, or HandleBatch panics or calls runtime.Goexit, each item
	// has failed.
	//
	// The slice is valid until HandleBatch returns. Items that run again become
	// ready one by one. The claims of all others end together afterwards.
	HandleBatch func(ctx context.Context, items []T) []error

	// BatchSize limits the items of one HandleBatch: 1 to [MaxBatchSize]. Each
	// worker allocates a buffer of that length.
	BatchSize int

	// Linger is how long a worker waits in real time until its batch is full,
	// from the first item. Meanwhile its items are in processing: they count in
	// a group's limit, and a Drain of another caller waits for them. Linger
	// ends at once when the context of Run ends, when the source is shut down
	// and has nothing ready, and when the worker must leave.
	//
	// If the limit of a group is below BatchSize, no batch of its items alone
	// becomes full, and the worker waits for the whole Linger.
	//
	// If zero, HandleBatch gets what is ready.
	Linger time.Duration

	// Timeout ends the context of an attempt, or of a batch, after that much
	// real time, whatever the queue's clock is. A handler that ignores its
	// context is not interrupted, and its result counts although it is late.
	// Timeout costs a few allocations for each attempt.
	//
	// If zero, there is no timeout.
	Timeout time.Duration

	// CancelIfAddedAgain ends the context of an attempt with the cause
	// [ErrAddedAgain] when its item is added again, because the attempt may
	// work on a state that is obsolete. If the handler then returns an error
	// that wraps context.Canceled or ErrAddedAgain, the attempt was
	// interrupted: it counts neither as a success nor as a failure, and the
	// item is ready again at once, as by [Claim.Release]. The handler may also
	// ignore it: every other result counts as usual.
	//
	// An item that is added more often than a handler takes is then never
	// processed to the end. An add that the handler itself makes counts, too.
	// So does the end of a delay: the backoff of an earlier failure may expire
	// while the item runs because of an add since.
	//
	// CancelIfCanceled does the same with the cause [ErrItemCanceled] when the
	// queue's Cancel is called for the item. The interrupted item is Done: it
	// runs again only if it is added after that. The Cancel of a Coalescer
	// takes back what is pending, and ends no context.
	//
	// Both cost some allocations for each attempt, and have no effect if the
	// owner of the claim is no [Watcher]. They must be false with HandleBatch.
	CancelIfAddedAgain, CancelIfCanceled bool

	// MaxAttempts limits the attempts of an item. The item is discarded when
	// that attempt fails.
	//
	// If zero, there is no limit.
	MaxAttempts int

	// Workers call OnError for each failed attempt, including the one after
	// which the item is discarded. It gets the handler's error, a
	// [*PanicError], or [ErrGoexit]. A [RequeueAfter] is no failure. OnError
	// may read the value of a coalescer, but must not keep it, because it goes
	// back afterwards.
	OnError func(context.Context, Failure[T])

	// Workers call OnDiscard for each item that will not run again:
	//
	//   - what failed with [Permanent], or for the MaxAttempts-th time;
	//   - what failed, or returned a [RequeueAfter], after a shutdown had
	//     begun, with an error that wraps both [ErrShutDown] and the handler's
	//     error;
	//   - what the [Owner] could not accept again for another reason, with an
	//     error that wraps that reason;
	//   - what Drain dropped while it was delayed.
	//
	// OnLeftover, if set, gets what a shutdown or a drain left over instead.
	//
	// The limiter then forgets the item. If the item was added meanwhile, it
	// runs again. Workers do not call OnDiscard for an item whose claim other
	// code has ended, such as the handler.
	//
	// Pool does not see the delayed items that another shutdown drops. The
	// caller of the queue's Drain gets them.
	OnDiscard func(context.Context, Failure[T])

	// Workers call OnLeftover instead of OnDiscard for each item that a
	// shutdown left over, which may succeed another time: what failed or
	// returned a [RequeueAfter] after a shutdown had begun, and what Drain
	// dropped. The Reason is [ReasonShutDown]. A program may keep these items,
	// and add them when it starts again.
	//
	// If nil, OnDiscard gets them, so that no item is lost without a report.
	OnLeftover func(context.Context, Failure[T])

	// Drain begins the shutdown of the source, and waits until nothing is left
	// to do, while the workers go on. Run calls it when its context ends. The
	// DrainWith of a queue and of a coalescer return such a function.
	//
	// Drain returns the items that it dropped, which the Pool passes to
	// OnLeftover, or else to OnDiscard. When its context ends, it returns an
	// error, and so does Run. If that error has a method Refresh() error, Run
	// calls it when the last worker has left, and returns its result. If Drain
	// panics, the Pool calls it once more, with a context that has ended, for
	// the items that it has dropped.
	//
	// If nil, workers leave when the context ends, and what is queued stays
	// queued.
	Drain func(ctx context.Context) (dropped []T, err error)

	// DrainTimeout ends the context of Drain after that much real time.
	//
	// If zero, there is no timeout.
	DrainTimeout time.Duration

	// Labels sets two pprof labels in the workers' goroutines and in the
	// handlers' contexts: "queue", the source's name, and "worker", the
	// worker's number. So profiles show queues and workers apart.
	Labels bool
}

// The keys of the pprof labels.
const (
	labelKey       = "queue"
	workerLabelKey = "worker"
)

func (o Options[T]) labeled(ctx context.Context, name string) context.Context {
	if !o.Labels {
		return ctx
	}
	return pprof.WithLabels(ctx, pprof.Labels(labelKey, name))
}

// validate returns one error that names every fault, or nil.
func (o Options[T]) validate() error {
	var faults []error
	fault := func(isFault bool, format string, arguments ...any) {
		if isFault {
			faults = append(faults, fmt.Errorf("worker: Options."+format, arguments...))
		}
	}
	fault(o.Workers < 1, "Workers is %d: want 1 or more", o.Workers)
	fault(o.Handle == nil && o.HandleBatch == nil, "Handle and HandleBatch are both nil: want one of them")
	fault(o.Handle != nil && o.HandleBatch != nil, "Handle and HandleBatch are both set: want one of them")
	fault(o.HandleBatch != nil && (o.BatchSize < 1 || o.BatchSize > MaxBatchSize),
		"BatchSize is %d: want 1 to %d with HandleBatch", o.BatchSize, MaxBatchSize)
	fault(o.HandleBatch == nil && o.BatchSize != 0, "BatchSize is %d: want 0 without HandleBatch", o.BatchSize)
	fault(o.Linger < 0, "Linger is %v: want 0 (none) or more", o.Linger)
	fault(o.HandleBatch == nil && o.Linger > 0, "Linger is %v: want 0 without HandleBatch", o.Linger)
	fault(o.HandleBatch != nil && len(o.Use) > 0,
		"Use has %d functions: want none with HandleBatch, because they wrap the handling of one item", len(o.Use))
	fault(o.HandleBatch != nil && o.Attempts, "Attempts is true: want false with HandleBatch")
	fault(o.HandleBatch != nil && o.CancelIfAddedAgain, "CancelIfAddedAgain is true: want false with HandleBatch")
	fault(o.HandleBatch != nil && o.CancelIfCanceled, "CancelIfCanceled is true: want false with HandleBatch")
	fault(o.Timeout < 0, "Timeout is %v: want 0 (none) or more", o.Timeout)
	fault(o.MaxAttempts < 0, "MaxAttempts is %d: want 0 (no limit) or more", o.MaxAttempts)
	fault(o.DrainTimeout < 0, "DrainTimeout is %v: want 0 (no timeout) or more", o.DrainTimeout)
	fault(o.Drain == nil && o.DrainTimeout > 0, "DrainTimeout is %v: want 0 without Drain", o.DrainTimeout)
	return errors.Join(faults...)
}
