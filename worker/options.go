package worker

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// MaxBatchSize is the greatest [Options].BatchSize.
const MaxBatchSize = 1 << 20

// Options configure a [Pool]. [New] reads them once. Most pools set Workers,
// Handle, MaxAttempts and OnDiscard, and for an orderly end Drain and
// DrainTimeout. For batches, set HandleBatch and BatchSize in place of Handle.
//
// Workers call the hooks OnError, OnDiscard and OnLeftover in their own
// goroutines, between the end of the attempt and the end of the claim. The
// hooks must be safe for concurrent use, and may use the source and the Pool.
// Their context has the values of the context of Run, and does not end.
type Options[T any] struct {
	// Workers is the number of workers that Run starts: 1 or more.
	Workers int

	// Handle processes an item. Its error says what happens to the item: see
	// the package documentation. Set either Handle or HandleBatch.
	Handle func(ctx context.Context, item T) error

	// Use wraps Handle. The first middleware is the outermost. It costs an
	// allocation for each attempt, and must be empty with HandleBatch.
	Use []Middleware[T]

	// Attempts makes [AttemptOf] work in Handle, for an allocation for each
	// attempt. With Use, it works without this. Attempts must be false with
	// HandleBatch.
	Attempts bool

	// HandleBatch processes 1 to BatchSize items: those that are ready. It
	// returns nil if all succeeded, or else one error for each item, which
	// means what that of Handle means: see [FailAll], [FailFrom] and
	// [FailSome]. If the length differs, or HandleBatch does not return, each
	// item has failed. The slice is valid until HandleBatch returns.
	HandleBatch func(ctx context.Context, items []T) []error

	// BatchSize limits the items of one HandleBatch: 1 to [MaxBatchSize].
	BatchSize int

	// BatchWeight, if set, is the most that the items of a batch weigh
	// together, as Weigh says. An item that is heavier comes alone. An item
	// that did not fit stays in processing, also if other workers are idle, and
	// begins the worker's next batch.
	BatchWeight int
	Weigh       func(item T) int

	// Linger is how long a worker waits for a full batch, in real time from the
	// first item. Meanwhile its items are in processing. The end of the context
	// of Run and a shutdown end the wait.
	Linger time.Duration

	// Timeout, if set, ends the context of an attempt, or of a batch, after
	// that much real time. If a handler ignores its context, its result counts
	// all the same.
	Timeout time.Duration

	// CancelIfAddedAgain ends the context of an attempt with the cause
	// [ErrAddedAgain] when its item is added again. If the handler then returns
	// an error that wraps context.Canceled or ErrAddedAgain, the attempt counts
	// neither as a success nor as a failure, and the item is ready again at
	// once. CancelIfCanceled does the same with the cause [ErrItemCanceled] when
	// the queue's Cancel is called for the item. The item is then Done. Both need
	// a [Watcher], and must be false with HandleBatch.
	CancelIfAddedAgain, CancelIfCanceled bool

	// MaxAttempts, if set, limits the attempts of an item, as the source counts
	// them. MaxElapsed, if set, discards an item that fails when at least that
	// much time has passed since its first failure, by the clock of the queue,
	// pauses included. Both need a limiter that counts failures.
	MaxAttempts int
	MaxElapsed  time.Duration

	// Workers call OnError for each failed attempt, including the one after
	// which the item is discarded. It must not keep the value of a coalescer,
	// because the value goes back afterwards.
	OnError func(context.Context, Failure[T])

	// Workers call OnDiscard for each dead letter: an item that will not run
	// again for any [Reason] but ReasonShutDown. The limiter then forgets the
	// item. If the item was added meanwhile, it runs again.
	OnDiscard func(context.Context, Failure[T])

	// Workers call OnLeftover for each item that may succeed another time: those
	// whose retry a shutdown refused, and those that Drain dropped. If nil, Run
	// returns a [LeftoverError] that has them.
	OnLeftover func(context.Context, Failure[T])

	// Drain shuts the source down, and waits until nothing is left to do, while
	// the workers go on. Run calls it when its context ends: see the DrainWith
	// of a queue and of a coalescer. If nil, workers leave when the context
	// ends, and the rest stays queued, to be lost if the process exits.
	Drain func(ctx context.Context) (dropped []T, err error)

	// DrainTimeout, if set, ends the context of Drain after that much real time.
	DrainTimeout time.Duration

	// AbandonAfter, if set, is how much real time Run gives handlers after
	// their contexts have ended. With Drain, it needs DrainTimeout. Run then
	// returns a [LeftoverError] that names the items whose handlers still run.
	// Each stays in processing until its handler returns or ends its claim.
	// With Drain, it is then Done, and otherwise ready again.
	AbandonAfter time.Duration

	// Labels sets two pprof labels in the workers' goroutines and the handlers'
	// contexts: "queue", the source's name, and "worker", the worker's number.
	Labels bool
}

// limits are the options that touch no item.
type limits struct {
	Workers, BatchSize, BatchWeight      int
	Linger, Timeout                      time.Duration
	Attempts, Uses, Labels               bool
	CancelIfAddedAgain, CancelIfCanceled bool
	MaxAttempts                          int
	MaxElapsed                           time.Duration
	DrainTimeout, AbandonAfter           time.Duration
}

func limitsOf[T any](o *Options[T]) limits {
	return limits{
		Workers: o.Workers, BatchSize: o.BatchSize, BatchWeight: o.BatchWeight, Linger: o.Linger, Timeout: o.Timeout,
		Attempts: o.Attempts, Uses: len(o.Use) > 0, Labels: o.Labels,
		CancelIfAddedAgain: o.CancelIfAddedAgain, CancelIfCanceled: o.CancelIfCanceled,
		MaxAttempts: o.MaxAttempts, MaxElapsed: o.MaxElapsed,
		DrainTimeout: o.DrainTimeout, AbandonAfter: o.AbandonAfter,
	}
}

// plain reports whether a handler needs nothing but the worker's context.
func (l *limits) plain() bool { return l.Timeout == 0 && !l.showsAttempts() && !l.watches() }

func (l *limits) showsAttempts() bool { return l.Attempts || l.Uses }

func (l *limits) watches() bool { return l.CancelIfAddedAgain || l.CancelIfCanceled }

func (l *limits) cancels(cause error) bool {
	return cause == ErrAddedAgain && l.CancelIfAddedAgain || cause == ErrItemCanceled && l.CancelIfCanceled
}

// given says which functions the options have.
type given struct {
	one, batches, weigh, drain, timed bool // timed: hooks that need durations
	middlewares                       int
}

func givenOf[T any](o *Options[T]) given {
	return given{
		o.Handle != nil, o.HandleBatch != nil, o.Weigh != nil, o.Drain != nil,
		o.OnError != nil || o.OnDiscard != nil || o.OnLeftover != nil, len(o.Use),
	}
}

func validate(o limits, g given) error {
	var faults []error
	fault := func(isFault bool, format string, arguments ...any) {
		if isFault {
			faults = append(faults, fmt.Errorf("worker: Options."+format, arguments...))
		}
	}
	fault(o.Workers < 1, "Workers is %d: want 1 or more", o.Workers)
	fault(!g.one && !g.batches, "Handle and HandleBatch are both nil: want one of them")
	fault(g.one && g.batches, "Handle and HandleBatch are both set: want one of them")
	fault(g.batches && (o.BatchSize < 1 || o.BatchSize > MaxBatchSize),
		"BatchSize is %d: want 1 to %d with HandleBatch", o.BatchSize, MaxBatchSize)
	fault(!g.batches && o.BatchSize != 0, "BatchSize is %d: want 0 without HandleBatch", o.BatchSize)
	fault(o.BatchWeight < 0 || g.weigh != (o.BatchWeight > 0), "BatchWeight is %d: want more than 0 with Weigh, and else 0", o.BatchWeight)
	fault(!g.batches && o.BatchWeight > 0, "BatchWeight is %d: want 0 without HandleBatch", o.BatchWeight)
	fault(o.Linger < 0, "Linger is %v: want 0 (none) or more", o.Linger)
	fault(!g.batches && o.Linger > 0, "Linger is %v: want 0 without HandleBatch", o.Linger)
	fault(g.batches && g.middlewares > 0,
		"Use has %d functions: want none with HandleBatch, because they wrap the handling of one item", g.middlewares)
	fault(g.batches && o.Attempts, "Attempts is true: want false with HandleBatch")
	fault(g.batches && o.CancelIfAddedAgain, "CancelIfAddedAgain is true: want false with HandleBatch")
	fault(g.batches && o.CancelIfCanceled, "CancelIfCanceled is true: want false with HandleBatch")
	fault(o.Timeout < 0, "Timeout is %v: want 0 (none) or more", o.Timeout)
	fault(o.MaxAttempts < 0, "MaxAttempts is %d: want 0 (no limit) or more", o.MaxAttempts)
	fault(o.MaxElapsed < 0, "MaxElapsed is %v: want 0 (no limit) or more", o.MaxElapsed)
	fault(o.DrainTimeout < 0, "DrainTimeout is %v: want 0 (no timeout) or more", o.DrainTimeout)
	fault(o.AbandonAfter < 0, "AbandonAfter is %v: want 0 (never) or more", o.AbandonAfter)
	fault(g.drain && o.AbandonAfter > 0 && o.DrainTimeout == 0,
		"AbandonAfter is %v: want DrainTimeout with Drain, because only that ends the handlers' contexts", o.AbandonAfter)
	fault(!g.drain && o.DrainTimeout > 0, "DrainTimeout is %v: want 0 without Drain", o.DrainTimeout)
	return errors.Join(faults...)
}
