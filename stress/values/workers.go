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
// Merge panics in a worker, Run panics, and there is a new pool.
func (r *round) runWorkers() {
	defer r.work(0)
	defer r.target.ShutDown() // otherwise workers would wait forever
	for {
		w, err := worker.New(r.target.Coalescer, r.workerOptions())
		if err != nil {
			r.found.Add("no workers: %v", err)
			return
		}
		if r.guarded(func() { _ = w.Run(r.context) }) {
			return
		}
	}
}

func (r *round) workerOptions() worker.Options[pair] {
	o := worker.Options[pair]{Workers: r.workers, MaxAttempts: r.maxAttempts, OnDiscard: r.target.onDiscard}
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

// handle processes a key, and sometimes panics or exits.
func (r *round) handle(_ context.Context, p pair) error {
	err := r.decide(p)
	if n := len(p.Value); err == errFails && n%3 == 0 {
		panic(err)
	} else if err == errFails && n%3 == 1 {
		runtime.Goexit()
	}
	return err
}

// decide processes a key. It succeeds most of the time.
func (r *round) decide(p pair) error {
	r.tally.takes.Add(1)
	account := &r.keys[p.Key]
	if account.holder.Add(1) != 1 {
		r.found.Add("two workers have key %d", p.Key)
	}
	defer account.holder.Add(-1)
	n := r.handed.Add(1) + r.Seed
	if r.retries && n%3 == 0 {
		r.tally.returned.Add(1)
		r.putBeside(p.Key, int(n))
		switch n / 3 % 4 {
		case 0:
			return worker.RequeueAfter(time.Duration(n%5) * time.Millisecond)
		case 1:
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
	r.tally.accepted.Add(1)
	r.keys[key].mu.Lock()
	defer r.keys[key].mu.Unlock()
	r.keys[key].put = append(r.keys[key].put, one)
}

// handleBatch calls decide for each key.
func (r *round) handleBatch(_ context.Context, all []pair) []error {
	errs := make([]error, len(all))
	for i, p := range all {
		errs[i] = r.decide(p)
		all[i] = pair{Key: -1} // the handler owns the slice
	}
	return errs
}

// discard records a discarded value. Unless a drain has dropped it, the worker
// still has the key.
func (r *round) discard(_ context.Context, f worker.Failure[pair]) {
	r.tally.discarded.Add(1)
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
