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
	o := worker.Options[int]{Workers: r.plan.consumers, OnDiscard: r.onDiscard, MaxAttempts: r.plan.attempts()}
	o.OnLeftover = o.OnDiscard
	if r.plan.Seed%3 == 0 {
		o.HandleBatch, o.BatchSize = r.handleBatch, mostBatch
	} else {
		o.Handle = r.handle
	}
	if r.plan.ending == drained {
		o.Drain = func(ctx context.Context) ([]int, error) { return r.queue.Drain(ctx, r.plan.drain) }
	}
	pool, err := worker.New(stampedSource{r.queue.Queue, r}, o)
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

func (p *Plan) attempts() int { return int(p.Seed/2%2) * 3 }

func (r *round) stamp(claimed []claim, sight *ledger.Sight) {
	a := r.borrow()
	defer r.giveBack(a)
	a.gets.Add(uint64(len(claimed)))
	for _, c := range claimed {
		if c.Item >= 0 {
			r.ledger.Stamp(c.Item, sight)
			r.ledger.Fence(c.Item, c.Fence())
		}
	}
}

// borrow returns an actor that no other goroutine has: handlers are called in
// the pool's goroutines.
func (r *round) borrow() *actor {
	select {
	case a := <-r.idle:
		return a
	default:
		return r.newActor()
	}
}

func (r *round) giveBack(a *actor) {
	select {
	case r.idle <- a:
	default:
	}
}

var errFails = errors.New("the handler fails on purpose")

func (r *round) handle(_ context.Context, key int) error {
	err := r.handleOne(key)
	switch {
	case key < 0 || !errors.Is(err, errFails) || worker.IsPermanent(err):
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
	defer r.giveBack(a)
	if key < 0 {
		return nil
	}
	a.ledger.Stamped(key, &a.sight)
	a.ledger.Begin(key, &a.sight)
	if !a.process(key) {
		a.ledger.Finish(key)
		a.ledger.Ran(key)
		if a.chance(8) && !a.plan.has(windows) { // a discard would close the window, unseen by its owner
			a.discarded.Add(1)
			return worker.Permanent(errFails)
		}
		return nil
	}
	failures := a.ledger.Failures(key)
	delay, err := a.plan.leastBackoff(failures), errFails
	if failures++; a.chance(3) {
		delay, failures = a.upTo(longest), 0
		err = worker.RequeueAfter(delay)
	}
	a.ledger.Again(key, a.now()+int64(delay), failures) // or see onDiscard
	return err
}

func (r *round) onDiscard(_ context.Context, f worker.Failure[int]) {
	switch {
	case f.Item < 0 || f.Reason == worker.ReasonPermanent:
		return
	case f.Reason == worker.ReasonExhausted:
		r.discarded.Add(1)
	case !r.queue.ShuttingDown():
		r.found.Add("pools: key %d was discarded: %v", f.Item, f.Err)
	}
	r.ledger.NotAgain(f.Item)
}
