package shardq

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"time"
)

// MaxBatchSize is the greatest [WorkerOptions].BatchSize.
const MaxBatchSize = 1 << 20

// WorkerOptions say how [Workers] process items. [NewWorkers] reads them once. What is said
// of a queue here holds for another [Source] as far as that has what it takes.
//
// Attempts are counted by the queue's limiter alone: an attempt is the one after as many
// as [Queue.NumRequeues] says. So the count includes the AddRateLimited of others, it goes
// on in other Workers of the queue, and with a limiter that does not count per item, such
// as a limiter.Bucket alone, every attempt is the first.
//
// The hooks, OnError and OnGiveUp, are called in the goroutine of the worker, between the
// end of the attempt and the item's Done, with no lock held, by several workers at once.
// They may use the queue and the Workers; the item waits for them. See [Workers.Run] for
// hooks that panic.
type WorkerOptions[T any] struct {
	// Workers is how many goroutines Run starts with: 1 or more. See [Workers.Resize].
	Workers int

	// Handle processes an item. What it returns decides what becomes of the item: see
	// [Queue.Run], and [Coalescer.Run] for its values. Either Handle or HandleBatch is to be set.
	Handle func(ctx context.Context, item T) error

	// HandleBatch processes 1 to BatchSize items, which are as [Queue.GetBatch] returns
	// them: all that is ready, never waiting for more. It returns one error per item, in
	// their order, each with the meaning that it has for Handle; or nil, if all succeeded.
	// An answer of another length, a panic and a Goexit count as a failure of each item.
	// The slice is valid until HandleBatch returns. Items that come again do so one by one;
	// all others are Done together, once the last is settled.
	HandleBatch func(ctx context.Context, items []T) []error

	// BatchSize is how many items HandleBatch is given at most: 1 to [MaxBatchSize]. Each
	// worker has room for as many.
	BatchSize int

	// Timeout ends the context of an attempt, or of a batch. It is real time, whatever
	// the queue's clock is. A handler that does not heed its context is not cut short,
	// and what it returns counts, also when it is late. It costs some allocations per
	// attempt. Default: 0, none.
	Timeout time.Duration

	// MaxAttempts is how often an item is tried: it is given up when that attempt fails.
	// Default: 0, no bound.
	MaxAttempts int

	// OnError is told of each failed attempt, also of the one by which an item is given
	// up, with the error that the handler returned, a [*PanicError], or [ErrGoexit].
	// A [RequeueAfter] is no failure. The value of a Coalescer is to be looked at, not
	// kept: it goes back afterwards. Default: nobody is told.
	OnError func(Failure[T])

	// OnGiveUp is told of each item that will not be tried again: what failed by
	// [Permanent], or for the MaxAttempts-th time; what failed or was to be requeued when
	// the queue was shutting down, with an error that wraps both [ErrShutDown] and what
	// the handler returned; what its [ClaimOwner] could not take back for another reason,
	// with an error that wraps that one; and what waited when Drain dropped it. The item
	// is then forgotten by the limiter. If it was added meanwhile it runs again.
	//
	// Items that wait when somebody else shuts the queue down are not told of: whoever
	// calls [Queue.Drain] has them returned. Default: nobody is told.
	OnGiveUp func(Failure[T])

	// Drain says that at the end of Run's context the queue is to be drained, and how.
	// What fails while it drains is retried, unless its Retries is RefuseRetries.
	// Default: nil, workers leave, and what is queued stays queued.
	Drain *DrainOptions

	// DrainTimeout is how long the drain may take, in real time. Default: 0, as long as
	// it takes.
	DrainTimeout time.Duration

	// Labels sets the pprof labels "queue" to the queue's name and "worker" to the worker's number,
	// that of [ItemInfo].Worker, in the workers' goroutines and in the context of the handlers:
	// profiles then tell the queues and the workers apart.
	Labels bool
}

// The keys of the pprof labels.
const (
	labelKey       = "queue"
	workerLabelKey = "worker"
)

func (o WorkerOptions[T]) labeled(ctx context.Context, name string) context.Context {
	if !o.Labels {
		return ctx
	}
	return pprof.WithLabels(ctx, pprof.Labels(labelKey, name))
}

// validate returns one error that names every fault, or nil.
func (o WorkerOptions[T]) validate() error {
	var faults []error
	fault := func(isFault bool, format string, arguments ...any) {
		if isFault {
			faults = append(faults, fmt.Errorf("shardq: WorkerOptions."+format, arguments...))
		}
	}
	fault(o.Workers < 1, "Workers is %d: want 1 or more", o.Workers)
	fault(o.Handle == nil && o.HandleBatch == nil, "Handle and HandleBatch are both nil: want one of them")
	fault(o.Handle != nil && o.HandleBatch != nil, "Handle and HandleBatch are both set: want one of them")
	fault(o.HandleBatch != nil && (o.BatchSize < 1 || o.BatchSize > MaxBatchSize),
		"BatchSize is %d: want 1 to %d with HandleBatch", o.BatchSize, MaxBatchSize)
	fault(o.HandleBatch == nil && o.BatchSize != 0, "BatchSize is %d: want 0 without HandleBatch", o.BatchSize)
	fault(o.Timeout < 0, "Timeout is %v: want 0 (none) or more", o.Timeout)
	fault(o.MaxAttempts < 0, "MaxAttempts is %d: want 0 (no bound) or more", o.MaxAttempts)
	if o.Drain != nil {
		for _, text := range o.Drain.faults() {
			fault(true, "Drain: %s", text)
		}
	}
	fault(o.DrainTimeout < 0, "DrainTimeout is %v: want 0 (no bound) or more", o.DrainTimeout)
	fault(o.Drain == nil && o.DrainTimeout > 0, "DrainTimeout is %v: want 0 without Drain", o.DrainTimeout)
	return errors.Join(faults...)
}
