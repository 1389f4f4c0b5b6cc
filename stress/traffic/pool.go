package traffic

import (
	"context"
	"errors"
	"runtime"

	"github.com/shardq/shardq/stress/ledger"
	"github.com/shardq/shardq/worker"
)

// startPool starts a pool in place of consumers. In a round that is drained, the
// pool drains the queue.
func (r *round) startPool() {
	o := worker.Options[int]{Workers: r.plan.consumers, OnDiscard: r.onDiscard, MaxAttempts: int(r.plan.Seed/2%2) * 3}
	o.OnLeftover = o.OnDiscard
	if r.plan.batches {
		o.HandleBatch, o.BatchSize = r.handleBatch, mostBatch
	} else {
		o.Handle = r.handle
	}
	if r.plan.ending == drained {
		o.Drain = func(ctx context.Context) ([]int, error) { return r.queue.Drain(ctx, r.plan.drain) }
	}
	pool, err := worker.New(countedSource{r.queue.Queue, r}, o)
	if err != nil {
		panic(err)
	}
	r.pool = pool
	ctx, end := context.WithCancel(context.Background())
	r.endPool = end
	last := r.newActor() // takes what a pause has kept from the pool
	r.consumers.Go(func() {
		err := pool.Run(ctx)
		r.found.If(err != nil && !r.found.Any(), "pools: Run returned %v", err)
		last.consume()
	})
}

// borrow returns an actor that no other goroutine has: handlers are called in
// the pool's goroutines.
func (r *round) borrow() *actor {
	if a, ok := r.idle.Get().(*actor); ok {
		return a
	}
	return r.newActor()
}

var errFails = errors.New("the handler fails on purpose")

func (r *round) handle(_ context.Context, key int) error {
	err := r.handleOne(key)
	switch {
	case !errors.Is(err, errFails) || worker.IsPermanent(err):
	case key%5 == 0:
		panic(err)
	case key%5 == 1:
		runtime.Goexit()
	}
	return err
}

func (r *round) handleBatch(_ context.Context, keys []int) []error {
	errs := make([]error, len(keys))
	for i, key := range keys {
		errs[i] = r.handleOne(key)
	}
	return errs
}

// handleOne decides what becomes of a key. The ledger enters that before the
// pool does it.
func (r *round) handleOne(key int) error {
	a := r.borrow()
	defer r.idle.Put(a)
	a.ledger.Begin(key)
	if !a.process(key) {
		a.ledger.Finish(key)
		a.ledger.Ran(key)
		if a.chance(8) {
			return worker.Permanent(errFails)
		}
		return nil
	}
	failures := a.ledger.Failures(key)
	delay, err := leastBackoff(failures), errFails
	if failures++; a.chance(3) {
		delay, failures = a.upTo(longest), 0
		err = worker.RequeueAfter(delay)
	}
	a.ledger.Again(key, ledger.Now()+int64(delay), failures) // or see onDiscard
	return err
}

func (r *round) onDiscard(_ context.Context, f worker.Failure[int]) {
	if f.Reason == worker.ReasonPermanent {
		return
	}
	r.found.If(f.Reason != worker.ReasonExhausted && !r.queue.ShuttingDown(),
		"pools: key %d was discarded: %v", f.Item, f.Err)
	r.ledger.NotAgain(f.Item)
}
