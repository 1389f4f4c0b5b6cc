package values

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// work takes values in a loop, until the coalescer is shut down. What is paused
// then is left until no pause begins any more.
func (r *round) work(number int) {
	dice := rand.New(rand.NewPCG(r.Seed, uint64(number+1000)))
	taken := make([]pair, r.batch)
	for {
		opened := r.opened.Load()
		n, err := r.take(dice, taken)
		if errors.Is(err, shardq.ErrShutDown) && opened {
			return
		} else if errors.Is(err, shardq.ErrShutDown) {
			time.Sleep(50 * time.Microsecond)
		}
		var done []pair
		for _, p := range taken[:n] {
			r.begin(p)
		}
		for _, p := range taken[:n] {
			if !r.retries || dice.IntN(4) > 0 || !r.putBack(dice, p) {
				r.succeed(p)
				done = append(done, p)
			}
		}
		for _, p := range done {
			r.target.Done(p.Key)
		}
	}
}

func (r *round) take(dice *rand.Rand, taken []pair) (n int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(dice.IntN(2000))*time.Microsecond)
	defer cancel()
	r.guarded(func() {
		if dice.IntN(2) == 0 {
			claims := make([]worker.Claim[pair], len(taken))
			n, err = r.target.ClaimBatch(ctx, claims)
			for i := range n {
				taken[i] = claims[i].Item
			}
		} else if taken[0].Key, taken[0].Value, err = r.target.Take(ctx); err == nil {
			n = 1
		}
	})
	return n, err
}

func (r *round) begin(p pair) {
	r.takes.Add(1)
	r.found.If(r.keys[p.Key].holders.Add(1) != 1, "two workers have key %d", p.Key)
	if v := r.target.Stats().Values; r.bounded && r.capacity > 0 && v.Weight > r.capacity {
		r.found.Add("%d are pending, with a capacity of %d", v.Weight, r.capacity)
	}
}

func (r *round) succeed(p pair) {
	account := &r.keys[p.Key]
	account.processed = append(account.processed, p.Value...)
	account.holders.Add(-1)
}

func (r *round) giveBack(p pair) {
	account := &r.keys[p.Key]
	account.returned = append(account.returned, p.Value...)
	account.holders.Add(-1)
}

func (r *round) putBack(dice *rand.Rand, p pair) bool {
	r.giveBack(p)
	back := r.target.PutBack
	if dice.IntN(2) == 0 {
		back = r.target.Retry
	}
	err := back(p.Key, p.Value)
	if err != nil {
		r.keys[p.Key].holders.Add(1)
	}
	r.found.If(err != nil && !errors.Is(err, shardq.ErrShutDown), "a value is not taken back: %v", err)
	r.happened("return")
	return err == nil
}

// runPools runs pools until the round ends, and then takes what is left. If
// Merge panics in a worker, Run panics, and there is a new pool.
func (r *round) runPools() {
	o := worker.Options[pair]{Workers: r.workers, MaxAttempts: r.maxAttempts, OnDiscard: r.target.onDiscard}
	o.OnLeftover = o.OnDiscard
	if r.batch > 2 {
		o.HandleBatch, o.BatchSize = r.handleBatch, r.batch
	} else {
		o.Handle = r.handle
	}
	if r.drains {
		o.Drain, o.DrainTimeout = r.target.DrainWith(r.drain), 20*time.Millisecond
	}
	for ended := false; !ended; {
		pool, err := worker.New(r.target.Coalescer, o)
		if err != nil {
			panic(err)
		}
		ended = r.guarded(func() { _ = pool.Run(r.context) })
	}
	r.target.ShutDown() // otherwise work would wait forever
	r.work(0)
}

var errFails = errors.New("fails on purpose")

func (r *round) handle(_ context.Context, p pair) error {
	err := r.decide(p)
	if n := len(p.Value) % 3; err == errFails && n == 0 {
		panic(err)
	} else if err == errFails && n == 1 {
		runtime.Goexit()
	}
	return err
}

func (r *round) handleBatch(_ context.Context, all []pair) []error {
	errs := make([]error, len(all))
	for i, p := range all {
		errs[i] = r.decide(p)
		all[i] = pair{Key: -1} // the handler owns the slice
	}
	return errs
}

func (r *round) decide(p pair) error {
	r.begin(p)
	n := r.takes.Load() + r.Seed
	if !r.retries || n%3 > 0 {
		r.succeed(p)
		return nil
	}
	r.giveBack(p)
	r.happened("return")
	switch n / 3 % 4 {
	case 0:
		return worker.RequeueAfter(time.Duration(n%5) * time.Millisecond)
	case 1:
		return worker.Permanent(errFails)
	}
	return errFails
}

// discard records a discarded value. If a drain has dropped it, a worker may
// have an older one.
func (r *round) discard(_ context.Context, f worker.Failure[pair]) {
	r.happened("discard")
	if f.Duration == 0 && f.Reason == worker.ReasonShutDown {
		r.drop([]pair{f.Item})
	} else {
		account := &r.keys[f.Item.Key]
		account.processed = append(account.processed, f.Item.Value...)
	}
	if len(f.Item.Value)%4 == 3 {
		runtime.Goexit()
	}
}
