package coalesce

import (
	"context"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// Claim is like [Coalescer.Take], but returns a [worker.Claim], which ends
// once.
func (c *Coalescer[K, V]) Claim(ctx context.Context) (claim worker.Claim[Entry[K, V]], err error) {
	var t taken[K, V]
	if err = c.take(ctx, &t); err == nil {
		c.make(&claim, &t)
	}
	return claim, err
}

// ClaimBatch is [Coalescer.Claim] for up to len(dst) keys. It blocks until a
// key is ready. With this method, a Coalescer is a [worker.Source].
func (c *Coalescer[K, V]) ClaimBatch(ctx context.Context, dst []worker.Claim[Entry[K, V]]) (n int, err error) {
	if len(dst) != 1 {
		return c.claimBatch(ctx, dst)
	}
	var t taken[K, V]
	if err = c.take(ctx, &t); err != nil {
		return 0, err
	}
	c.make(&dst[0], &t)
	return 1, nil
}

// DoneClaims ends each of the claims by Done. It returns [worker.ErrClaimEnded]
// if some of them had ended or are of another Coalescer. The others end.
func (c *Coalescer[K, V]) DoneClaims(claims []worker.Claim[Entry[K, V]]) (err error) {
	b := c.buffer(len(claims))
	defer c.release(b)
	if b.claims == nil {
		b.claims = make([]worker.Claim[K], cap(b.keys))
	}
	keys, keyOwner := b.claims[:len(claims)], c.engine.Owner
	defer clear(keys)
	for i := range claims {
		claim := &claims[i]
		if o, is := claim.Owner().(*owner[K, V]); is && o == c.owner {
			keys[i] = worker.NewClaim(claim.Item.Key, 0, keyOwner, claim.Token())
		}
	}
	err = worker.ErrClaimEnded // if the limiter panics
	defer func() {
		for i := range keys { // with an error, one may be in the hands of a call that returns its value
			if h := c.engine.Tokens.Handle(keys[i].Token()); err == nil || !c.shards.Core.Valid(h.Sealed()) {
				c.finishAt(keys[i].Item, h)
			}
		}
	}()
	return c.queue.DoneClaims(keys)
}

// A keyOwner is the owner of the queue's claims to keys. Its methods that need
// no item are also those of the coalescer's claims, whose tokens are the same.
type keyOwner interface {
	worker.Describer
	worker.Watcher
	Name() string
	ClaimValid(token worker.Token) bool
	CountsAttempts() bool
	ReportSuccess(ctx context.Context)
}

type owner[K comparable, V any] struct {
	keyOwner
	c *Coalescer[K, V]
}

func (c *Coalescer[K, V]) make(claim *worker.Claim[Entry[K, V]], t *taken[K, V]) {
	claim.Reset(Entry[K, V]{t.key, t.value}, t.priority, c.owner, c.engine.Tokens.Of(t.at))
}

func (o *owner[K, V]) DoneClaim(taken Entry[K, V], token worker.Token) (err error) {
	h := o.c.engine.Tokens.Handle(token)
	defer o.c.finishIf(&err, taken.Key, h) // also if the limiter panics
	return o.c.engine.Owner.DoneClaim(taken.Key, token)
}

// LeaveClaim is DoneClaim of a value that is not done: see worker.leaver.
func (o *owner[K, V]) LeaveClaim(taken Entry[K, V], token worker.Token) error {
	o.c.letGo(taken.Key, o.c.engine.Tokens.Handle(token))
	return o.DoneClaim(taken, token)
}

// doneAndNext ends a claim, and makes it that to the next value if it takes one.
func (c *Coalescer[K, V]) doneAndNext(claim *worker.Claim[Entry[K, V]]) (more bool, err error) {
	if claim.Owner() != worker.Owner[Entry[K, V]](c.owner) {
		return false, claim.Done()
	}
	h, t := c.engine.Tokens.Handle(claim.Token()), taken[K, V]{}
	func() {
		defer c.finishIf(&err, claim.Item.Key, h) // also if the limiter panics
		t.key, _, t.at, more, err = c.engine.Owner.DoneAndTake(claim.Item.Key, h)
	}()
	if more {
		if t.value, more = c.takeValue(&t); more {
			c.make(claim, &t)
		}
	}
	return more, err
}

func (o *owner[K, V]) ClaimFailures(taken Entry[K, V]) int { return o.c.queue.NumRequeues(taken.Key) }

func (o *owner[K, V]) FailingSince(taken Entry[K, V]) (first, now time.Time) {
	return o.c.engine.Owner.FailingSince(taken.Key)
}

func (o *owner[K, V]) ReportAttempt(r worker.Report[Entry[K, V]]) {
	o.c.engine.Owner.ReportAttempt(worker.Report[K]{
		Item: r.Item.Key, Result: r.Result, Duration: r.Duration, Worker: r.Worker,
	})
}

func (o *owner[K, V]) ReportFailure(ctx context.Context, f worker.Failure[Entry[K, V]], panicked *worker.PanicError) {
	o.c.engine.Owner.ReportFailure(ctx, keyFailure(f), panicked)
}

func (o *owner[K, V]) ReportDiscard(ctx context.Context, f worker.Failure[Entry[K, V]], panicked *worker.PanicError) {
	o.c.engine.Owner.ReportDiscard(ctx, keyFailure(f), panicked)
}

// keyFailure has what the queue reports.
func keyFailure[K comparable, V any](f worker.Failure[Entry[K, V]]) worker.Failure[K] {
	return worker.Failure[K]{Item: f.Item.Key, Err: f.Err, Final: f.Final, Attempt: f.Attempt, Reason: f.Reason}
}

func (o *owner[K, V]) ReturnClaim(taken Entry[K, V], token worker.Token, how worker.Return) error {
	c, h := o.c, o.c.engine.Tokens.Handle(token)
	if c.isCanceled(taken.Key, h) {
		return o.DoneClaim(taken, token)
	}
	only, ok := c.shards.Core.Seal(h)
	if !ok {
		return worker.ErrClaimEnded // so that no value is returned twice
	}
	r := claimReturn[K, V]{how: how, valueReturn: valueReturn[K, V]{
		c: c, stripe: c.stripeOf(taken.Key), key: taken.Key, value: taken.Value, weight: 1, at: only,
		priority: how.Priority, always: how.Reason == worker.ReturnRelease && how.Refused == nil,
	}}
	return r.carryOut()
}

type claimReturn[K comparable, V any] struct {
	valueReturn[K, V]
	how worker.Return
}

// carryOut either inserts the value, or refuses it, and then ends the claim. If
// user code panics before that, the value is inserted all the same, with the
// delay and the weight that are known by then.
func (r *claimReturn[K, V]) carryOut() (err error) {
	if !r.always && !r.c.acceptsReturns(r.stripe) {
		return r.refuse() // before the limiter counts a failure
	}
	defer func() {
		if r.insert() {
			r.finish()
		} else {
			err = r.refuse()
		}
	}()
	r.weight = r.c.weightOf(r.value)
	r.setDelay(r.c.engine.ReturnDelay(r.at, r.key, r.how))
	return nil
}

// refuse discards the value if the Return says so, before the claim ends.
func (r *claimReturn[K, V]) refuse() error {
	defer r.c.shards.Core.End(r.at)
	r.c.letGo(r.key, r.at)
	if r.how.Refused != nil {
		defer r.c.queue.Forget(r.key)
		r.how.Refused()
	}
	return shardq.ErrShutDown
}
