package main

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"time"

	"github.com/shardq/shardq"
)

// errFails is what handlers return.
var errFails = errors.New("fails on purpose")

// runWorkers has Workers take what comes, until the round's end, and takes what they leave. If a
// Merge panics in one of them, Run panics, and others take their place.
func (r *round) runWorkers() {
	defer r.work(0)
	defer r.target.ShutDown() // or nobody would tell work that nothing comes any more
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

// runOnce reports whether Run has returned, and did not panic.
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

// handle succeeds most of the time.
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

// putBeside puts a value for a key in processing, so that a Take has to merge what goes back with
// that. It is the n-th of a producer of its own.
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

// handleBatch is handle of each, or the failure of all.
func (r *round) handleBatch(ctx context.Context, all []pair) []error {
	errs := make([]error, len(all))
	for i, p := range all {
		errs[i] = r.handleOne(ctx, p)
		all[i] = pair{Key: -1} // the slice is the handler's
	}
	return errs
}

// handleOne makes a failure of a panic and of an exit, which would be that of the others, too.
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

// giveUp books what is in nobody's hands any more. As far as that is not what a drain has
// dropped, the worker still has the key.
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
