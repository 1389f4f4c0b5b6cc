package shardq

import (
	"context"
	"time"

	"github.com/shardq/shardq/shard"
)

// Claim is [Coalescer.Take] that returns the key with its value as a [Claim], by which
// the processing of the key is ended, and not by its name:
//
//   - Done is [Coalescer.Done].
//   - Retry is [Coalescer.Retry], and RequeueAfter the same without a failure, with a
//     delay of the caller's choice. Once a shutdown has begun, both end the claim and
//     return [ErrShutDown], unless a Drain takes retries in. The value is the caller's
//     then.
//   - Release is [Coalescer.PutBack], but also works once a shutdown has begun.
//
// So a consumer that comes too late cannot end the turn of another, nor give a value
// back twice. The Priority of the claim is 0.
func (c *Coalescer[K, V]) Claim(ctx context.Context) (claim Claim[Pending[K, V]], err error) {
	key, value, at, err := c.take(ctx)
	if err == nil {
		c.make(&claim, key, value, at)
	}
	return claim, err
}

// ClaimBatch is [Coalescer.Claim] for as many keys as dst has room for: it waits until
// there is one, claims what is ready then, and returns how many that was. With an error n
// is 0. If dst has no room it returns 0 at once. It costs less than as many calls.
func (c *Coalescer[K, V]) ClaimBatch(ctx context.Context, dst []Claim[Pending[K, V]]) (n int, err error) {
	if len(dst) == 1 {
		key, value, at, err := c.take(ctx)
		if err != nil {
			return 0, err
		}
		c.make(&dst[0], key, value, at)
		return 1, nil
	}
	return c.takeBatch(ctx, len(dst), func(i int, key K, value V, at shard.Handle) {
		c.make(&dst[i], key, value, at)
	})
}

// DoneClaims is [Claim.Done] of each of the claims, which need not have come from one
// ClaimBatch. It costs less than as many calls. It returns [ErrClaimEnded] if some of them
// had ended or are of another Coalescer. The others are done.
func (c *Coalescer[K, V]) DoneClaims(claims []Claim[Pending[K, V]]) error {
	b := c.buffer(len(claims))
	defer c.release(b)
	if b.claims == nil {
		b.claims = make([]Claim[K], cap(b.keys))
	}
	keys := b.claims[:len(claims)]
	defer clear(keys)
	for i := range claims {
		it := &claims[i]
		if owner, is := it.owner.(*coalescerClaims[K, V]); is && owner == c.claims() {
			keys[i] = NewClaim(it.Item.Key, 0, ClaimOwner[K](c.queue.claims()), it.token)
		}
	}
	return c.queue.DoneClaims(keys)
}

// A coalescerClaims is the coalescer as the owner of its claims. The token of a claim is
// that of the claim to the key.
type coalescerClaims[K comparable, V any] Coalescer[K, V]

func (c *Coalescer[K, V]) claims() *coalescerClaims[K, V] { return (*coalescerClaims[K, V])(c) }

func (o *coalescerClaims[K, V]) coalescer() *Coalescer[K, V] { return (*Coalescer[K, V])(o) }

// make makes a claim where it belongs.
func (c *Coalescer[K, V]) make(claim *Claim[Pending[K, V]], key K, value V, at shard.Handle) {
	claim.Item.Key, claim.Item.Value = key, value
	claim.owner, claim.token = c.claims(), c.queue.token(at)
}

// Name is that of the queue of keys.
func (o *coalescerClaims[K, V]) Name() string { return o.queue.name }

// DoneClaim is [Claim.Done].
func (o *coalescerClaims[K, V]) DoneClaim(taken Pending[K, V], token ClaimToken) error {
	return o.queue.claims().DoneClaim(taken.Key, token)
}

// ClaimValid is [Claim.Valid].
func (o *coalescerClaims[K, V]) ClaimValid(token ClaimToken) bool {
	return o.queue.claims().ClaimValid(token)
}

// ClaimFailures is [Claim.Failures].
func (o *coalescerClaims[K, V]) ClaimFailures(taken Pending[K, V]) int {
	return o.queue.claims().ClaimFailures(taken.Key)
}

// ReportFailure logs an attempt that failed, with the key alone.
func (o *coalescerClaims[K, V]) ReportFailure(ctx context.Context, f Failure[Pending[K, V]], panicked *PanicError) {
	o.queue.reportFailure(ctx, f.Item.Key, f.Attempt, f.Err, panicked)
}

// ReportDiscard counts and logs a value that is given up.
func (o *coalescerClaims[K, V]) ReportDiscard(ctx context.Context, f Failure[Pending[K, V]], panicked *PanicError) {
	o.queue.reportDiscard(ctx, f.Item.Key, f.Attempt, f.Err, panicked)
}

// ReturnClaim is [Claim.Return].
func (o *coalescerClaims[K, V]) ReturnClaim(taken Pending[K, V], token ClaimToken, how ClaimReturn) error {
	c := o.coalescer()
	only, ok := c.queue.shards.Seal(c.queue.handle(token))
	if !ok {
		return ErrClaimEnded // so that no value goes back twice
	}
	r := coalescerReturn[K, V]{how: how, giver: giver[K, V]{
		c: c, stripe: c.stripeOf(taken.Key), key: taken.Key, value: taken.Value, weight: 1, at: only,
		always: how.Reason == ReturnRelease && how.Refused == nil,
	}}
	return r.carryOut()
}

// A coalescerReturn is the return of a value whose claim nobody else can end any more.
type coalescerReturn[K comparable, V any] struct {
	giver[K, V]
	how ClaimReturn
}

// carryOut lays the value back, or else it is refused: never both. If the user's code
// panics before that, the value goes back nevertheless, with as much of what was asked
// for as is known by then.
func (r *coalescerReturn[K, V]) carryOut() (err error) {
	defer r.c.queue.shards.End(r.at)
	if !r.always && !r.c.takesBack(r.stripe) {
		return r.refuse() // before the limiter counts a failure
	}
	defer func() {
		if r.layBack() {
			r.comeAgain()
		} else {
			err = r.refuse()
		}
	}()
	r.wait(r.delay())
	r.weight = r.c.weightOf(r.value)
	return nil
}

func (r *coalescerReturn[K, V]) delay() time.Duration {
	return r.c.queue.returnDelay(r.key, r.how)
}

// refuse is called before the claim ends.
func (r *coalescerReturn[K, V]) refuse() error {
	if r.how.Refused != nil {
		defer r.c.queue.limiter.Forget(r.key)
		r.how.Refused()
	}
	return ErrShutDown
}
