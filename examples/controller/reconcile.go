package main

import (
	"context"
	"errors"
	"log"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
)

// resyncEvery is how long a settled object goes unobserved. Nobody tells the controller of
// a write that the API has lost, so it looks for itself.
const resyncEvery = 3 * time.Second

// A reconciler makes single objects as they are desired.
type reconciler struct {
	state  *state
	api    *api
	ledger *ledger
	log    *log.Logger

	ending atomic.Bool // no more resyncs

	throttlings, repairs, panics, hangs, exhausted atomic.Int64
}

// reconcile looks at one object and does what is needed: no more than that, however many
// changes there were, and nothing at all if there is no difference. Any number of turns are
// as good as one. The queue never gives a key to two workers at once, so the read, the
// comparison and the call need no lock and no transaction around them; the ledger checks it.
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
			r.repairs.Add(1) // only a resync comes unasked
		}
	}
	r.ledger.converged(key)
	if r.ending.Load() {
		return nil
	}
	return shardq.RequeueAfter(resyncEvery)
}

// verdict says what an error of the API's means for the object.
func (r *reconciler) verdict(err error) error {
	if throttled, ok := errors.AsType[throttled](err); ok {
		// The object is not to blame: that is no failed attempt, and the API knows
		// better than a back-off when there will be room.
		r.throttlings.Add(1)
		return shardq.RequeueAfter(throttled.retryAfter)
	}
	if _, ok := errors.AsType[*refusal](err); ok {
		return shardq.Permanent(err) // the same spec would be refused for ever
	}
	return err
}

// failed is told of each failed attempt. A panic is one of them: it has cost neither the
// program nor the worker.
func (r *reconciler) failed(f shardq.Failure[Key]) {
	if !f.Final {
		r.ledger.retried(f.Item)
	}
	if panicked, ok := errors.AsType[*shardq.PanicError](f.Err); ok {
		r.tellOnce(&r.panics, "%v: attempt %d panicked: %v", f.Item, f.Attempt, panicked.Value) // its Stack says where
	}
}

// giveUp is told of what will not be tried again until it is changed: the dead letters.
func (r *reconciler) giveUp(f shardq.Failure[Key]) {
	refusal, refused := errors.AsType[*refusal](f.Err)
	if !refused {
		r.tellOnce(&r.exhausted, "%v: given up after %d attempts: %.100v", f.Item, f.Attempt, f.Err)
	} else if err := r.state.giveUp(f.Item, refusal); err != nil {
		r.log.Printf("%v: was refused, and that cannot be noted: %v", f.Item, err)
	}
	r.ledger.givenUp(f.Item, refused)
}

// stuck is told of each object that has been at work for too long.
func (r *reconciler) stuck(i shardq.ItemInfo[Key]) {
	r.tellOnce(&r.hangs, "%v: attempt %d hangs for %v by now", i.Item, i.Attempts+1, stuckAfter)
}

// tellOnce counts incidents of a kind, and tells of the first: there can be thousands.
func (r *reconciler) tellOnce(incidents *atomic.Int64, format string, arguments ...any) {
	if incidents.Add(1) == 1 {
		r.log.Printf(format, arguments...)
	}
}
