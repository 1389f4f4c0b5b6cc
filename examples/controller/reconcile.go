package main

import (
	"context"
	"errors"
	"log"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// resyncEvery is the interval at which a settled object is checked. The
// controller is not notified of a write that the API has lost.
const resyncEvery = 3 * time.Second

// A reconciler reconciles single objects.
type reconciler struct {
	state  *state
	api    *api
	ledger *ledger
	log    *log.Logger

	ending atomic.Bool // no more resyncs

	throttlings, repairs, panics, hangs, exhausted atomic.Int64
}

// reconcile reads one object, and makes one API call if its states differ,
// however many changes there were. It is idempotent. The queue never gives a
// key to two workers at once, so that reading, comparing and calling need no
// lock and no transaction. The ledger checks that.
func (r *reconciler) reconcile(ctx context.Context, key Key) error {
	asked, end := r.ledger.begin(key)
	defer end() // also if the API panics
	desired, observed, err := r.state.read(ctx, key)
	if err != nil {
		return err
	}
	if observed != desired {
		if err := r.api.apply(ctx, key, desired); err != nil {
			return r.verdict(err)
		}
		if !asked {
			r.repairs.Add(1) // only a resync has no request
		}
	}
	r.ledger.converged(key)
	if r.ending.Load() {
		return nil
	}
	return worker.RequeueAfter(resyncEvery)
}

// verdict converts an error of the API into the result of the handler.
func (r *reconciler) verdict(err error) error {
	if throttled, ok := errors.AsType[throttled](err); ok {
		// The object is not to blame. This is no failed attempt, and the API
		// knows better than a backoff when there will be room.
		r.throttlings.Add(1)
		return worker.RequeueAfter(throttled.retryAfter)
	}
	if _, ok := errors.AsType[*refusal](err); ok {
		return worker.Permanent(err) // the same spec would always be refused
	}
	return err
}

// failed is the OnError hook. A panic is a failed attempt, too: it ends neither
// the program nor the worker.
func (r *reconciler) failed(_ context.Context, f worker.Failure[Key]) {
	if !f.Final {
		r.ledger.retried(f.Item)
	}
	if panicked, ok := errors.AsType[*worker.PanicError](f.Err); ok {
		r.logFirst(&r.panics, "%v: attempt %d panicked: %v", f.Item, f.Attempt, panicked.Value) // its Stack says where
	}
}

// discard is the OnDiscard hook: objects that are discarded until their next
// change.
func (r *reconciler) discard(_ context.Context, f worker.Failure[Key]) {
	refusal, refused := errors.AsType[*refusal](f.Err)
	if !refused {
		r.logFirst(&r.exhausted, "%v: discarded after %d attempts: %.100v", f.Item, f.Attempt, f.Err)
	} else if err := r.state.discard(f.Item, refusal); err != nil {
		r.log.Printf("%v: was refused, and that cannot be recorded: %v", f.Item, err)
	}
	r.ledger.discarded(f.Item, refused)
}

// stuck is the OnStuck hook.
func (r *reconciler) stuck(i stats.Item[Key]) {
	r.logFirst(&r.hangs, "%v: attempt %d hangs for %v by now", i.Item, i.Attempts+1, stuckAfter)
}

// logFirst counts incidents of a kind, and logs the first, because there may be
// thousands.
func (r *reconciler) logFirst(incidents *atomic.Int64, format string, arguments ...any) {
	if incidents.Add(1) == 1 {
		r.log.Printf(format, arguments...)
	}
}
