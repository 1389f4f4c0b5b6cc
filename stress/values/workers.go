package main

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"time"

	"github.com/shardq/shardq"
)

// errFails is the error of handlers.
var errFails = errors.New("fails on purpose")

// runWorkers runs Workers until the round ends, and then takes what is left. If
// Merge panics in a worker, Run panics, and runWorkers starts new Workers.
func (r *round) runWorkers() {
	defer r.work(0)
	defer r.target.ShutDown() // otherwise workers would wait forever
	for {
		w, err := r.target.NewWorkers(r.workerOptions())
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
func (r *round) runOnce(w *shardq.Workers[pair]) (returned bool) {
	defer func() {
		if cause := recover(); cause != nil && !errors.Is(cause.(error), errMerge) {
			panic(cause)
		}
	}()
	_ = w.Run(r.context)
	return true
}

func (r *round) workerOptions() shardq.WorkerOptions[pair] {
	o := shardq.WorkerOptions[pair]{Workers: r.workers, MaxAttempts: r.maxAttempts, OnGiveUp: r.giveUp}
	if r.batch > 2 {
		o.HandleBatch, o.BatchSize = r.handleBatch, r.batch
	} else {
		o.Handle = r.handle
	}
	if r.ending < 3 {
		o.Drain = &shardq.DrainOptions{Waiting: shardq.WaitingPolicy(r.ending)}
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
	n := r.handed.Add(1) + r.seed
	if r.retries && n%3 == 0 {
		count(&r.tally.returned)
		r.putBeside(p.Key, int(n))
		switch n / 3 % 6 {
		case 0:
			panic(errFails)
		case 1:
			runtime.Goexit()
		case 2:
			return shardq.RequeueAfter(time.Duration(n%5) * time.Millisecond)
		case 3:
			return shardq.Permanent(errFails)
		}
		return errFails
	}
	account.came = append(account.came, p.Value...)
	if r.bounded {
		r.look()
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

// giveUp records a discarded value. Unless a drain has dropped it, the worker
// still has the key.
func (r *round) giveUp(f shardq.Failure[pair]) {
	count(&r.tally.givenUp)
	if strings.Contains(f.Err.Error(), "dropped while it waited") {
		r.drop([]pair{f.Item})
	} else {
		account := &r.keys[f.Item.Key]
		account.came = append(account.came, f.Item.Value...)
	}
	if len(f.Item.Value)%4 == 3 {
		runtime.Goexit()
	}
}
