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
// Workers call the hooks OnError, OnDiscard and OnLeftover in their own
// goroutines, between the end of the attempt and the end of the claim. The
// hooks must be safe for concurrent use, and may use the source and the Pool.
// Their context has the values of the context of Run, and does not end, so that
// a hook may still write during a shutdown.
type Options[T any] struct {
	// Workers is the number of workers that Run starts: 1 or more.
	Workers int

	// Handle processes an item. Its error says what happens to the item: see
	// the package documentation. Set either Handle or HandleBatch.
	Handle func(ctx context.Context, item T) error

	// Use wraps Handle. The first middleware is the outermost. It costs an
	// allocation for each attempt, and must be empty with HandleBatch.
	Use []Middleware[T]

	// Attempts makes [AttemptOf] work without Use, for an allocation for each
	// attempt. It must be false with HandleBatch.
	Attempts bool

	// HandleBatch processes 1 to BatchSize items: those that are ready. It
	// returns nil if all succeeded, or else one error for each item, with the
	// meaning that it has for Handle: see [FailAll], [FailFrom] and [FailSome].
	// If the length differs, or HandleBatch panics or calls runtime.Goexit, each
	// item has failed. The slice is valid until HandleBatch returns.
	HandleBatch func(ctx context.Context, items []T) []error

	// BatchSize limits the items of one HandleBatch: 1 to [MaxBatchSize].
	BatchSize int

	// Linger is how long a worker waits in real time until its batch is full,
	// from the first item. Meanwhile its items are in processing. Linger ends at
	// once when the context of Run ends, when the source is shut down and has
	// nothing ready, and when the worker must leave.
	//
	// If zero, HandleBatch gets what is ready.
	Linger time.Duration

	// Timeout ends the context of an attempt, or of a batch, after that much
	// real time. A handler that ignores its context is not interrupted, and its
	// result counts although it is late.
	//
	// If zero, there is no timeout.
	Timeout time.Duration

	// CancelIfAddedAgain ends the context of an attempt with the cause
	// [ErrAddedAgain] when its item is added again, or a delay of it ends. If
	// the handler then returns an error that wraps context.Canceled or
	// ErrAddedAgain, the attempt counts neither as a success nor as a failure,
	// and the item is ready again at once. So an item that is added more often
	// than a handler takes is never processed to the end.
	//
	// CancelIfCanceled does the same with the cause [ErrItemCanceled] when the
	// queue's Cancel is called for the item. The interrupted item is Done: it
	// runs again only if it is added after that. The Cancel of a Coalescer
	// takes back what is pending, and ends no context.
	//
	// Both need a [Watcher], and must be false with HandleBatch.
	CancelIfAddedAgain, CancelIfCanceled bool

	// MaxAttempts limits the attempts of an item. The source counts them: a
	// queue asks its limiter, and some limiters do not count per item.
	//
	// If zero, there is no limit.
	MaxAttempts int

	// Workers call OnError for each failed attempt, including the one after
	// which the item is discarded. It may read the value of a coalescer, but
	// must not keep it, because it goes back afterwards.
	OnError func(context.Context, Failure[T])

	// Workers call OnDiscard for each item that will not run again, for one of
	// the [Reason]s. The limiter then forgets the item. If the item was added
	// meanwhile, it runs again. The pool does not see the delayed items that
	// another shutdown drops.
	OnDiscard func(context.Context, Failure[T])

	// Workers call OnLeftover instead of OnDiscard for each item that a
	// shutdown left over, which may succeed another time: what failed or
	// returned a [RequeueAfter] after a shutdown had begun, and what Drain
	// dropped.
	//
	// If nil, OnDiscard gets them.
	OnLeftover func(context.Context, Failure[T])

	// Drain shuts the source down, and waits until nothing is left to do, while
	// the workers go on. Run calls it when its context ends. The DrainWith of a
	// queue and of a coalescer return such a function.
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
