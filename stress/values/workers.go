package values

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// errFails is the error of handlers.
var errFails = errors.New("fails on purpose")

// runWorkers runs pools until the round ends, and then takes what is left. If
// Merge panics in a worker, Run panics, and runWorkers makes a new pool.
func (r *round) runWorkers() {
	defer r.work(0)
	defer r.target.ShutDown() // otherwise workers would wait forever
	for {
		w, err := r.target.NewPool(r.workerOptions())
		if err != nil {
			r.fault("no workers: %v", err)
			return
		}
		if r.runOnce(w) {
			return
		}
		count(&r.tally.faults)
	}
}

// runOnce reports whether Run returned without a panic.
func (r *round) runOnce(w *worker.Pool[pair]) (returned bool) {
	defer func() {
		if cause := recover(); cause != nil && !errors.Is(cause.(error), errMerge) {
			panic(cause)
		}
	}()
	_ = w.Run(r.context)
	return true
}

func (r *round) workerOptions() worker.Options[pair] {
	o := worker.Options[pair]{Workers: r.workers, MaxAttempts: r.maxAttempts, OnDiscard: r.discard}
	if r.batch > 2 {
		o.HandleBatch, o.BatchSize = r.handleBatch, r.batch
	} else {
		o.Handle = r.handle
	}
	if r.ending < 3 {
		o.Drain = r.target.DrainWith(shardq.DrainOptions{Delayed: shardq.DelayedPolicy(r.ending)})
		o.DrainTimeout = 20 * time.Millisecond
	}
	return o
}

// handle processes a key. It succeeds most of the time.
func (r *round) handle(_ context.Context, p pair) error {
	count(&r.tally.takes)
	account := &r.keys[p.Key]
	if account.holder.Add(1) != 1 {
		r.fault("two workers have key %d", p.Key)
	}
	defer account.holder.Add(-1)
	n := r.handed.Add(1) + r.Seed
	if r.retries && n%3 == 0 {
		count(&r.tally.returned)
		r.putBeside(p.Key, int(n))
		switch n / 3 % 6 {
		case 0:
			panic(errFails)
		case 1:
			runtime.Goexit()
		case 2:
			return worker.RequeueAfter(time.Duration(n%5) * time.Millisecond)
		case 3:
			return worker.Permanent(errFails)
		}
		return errFails
	}
	account.processed = append(account.processed, p.Value...)
	if r.bounded {
		r.checkCapacity()
	}
	return nil
}

// putBeside puts a value for a key in processing, so that a later Take must
// merge it with a returned value. It is the n-th value of its own producer.
func (r *round) putBeside(key, n int) {
	one, err := stamp{-1, n}, error(nil)
	if !r.guarded(func() { err = r.target.Put(key, value{one}) }) || err != nil {
		return
	}
	count(&r.tally.accepted)
	r.keys[key].mu.Lock()
	defer r.keys[key].mu.Unlock()
	r.keys[key].put = append(r.keys[key].put, one)
}

// handleBatch calls handle for each key, or fails for all.
func (r *round) handleBatch(ctx context.Context, all []pair) []error {
	errs := make([]error, len(all))
	for i, p := range all {
		errs[i] = r.handleOne(ctx, p)
		all[i] = pair{Key: -1} // the handler owns the slice
	}
	return errs
}

// handleOne converts a panic or an exit into an error. Otherwise it would end
// the whole batch.
func (r *round) handleOne(ctx context.Context, p pair) (err error) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer func() {
			if cause := recover(); cause != nil {
				err = errFails
			}
		}()
		err = errFails // unless handle returns
		err = r.handle(ctx, p)
	}()
	<-over
	return err
}

// discard records a discarded value. Unless a drain has dropped it, the worker
// still has the key.
func (r *round) discard(_ context.Context, f worker.Failure[pair]) {
	count(&r.tally.discarded)
	if strings.Contains(f.Err.Error(), "dropped while it was delayed") {
		r.drop([]pair{f.Item})
	} else {
		account := &r.keys[f.Item.Key]
		account.processed = append(account.processed, f.Item.Value...)
	}
	if len(f.Item.Value)%4 == 3 {
		runtime.Goexit()
	}
}
