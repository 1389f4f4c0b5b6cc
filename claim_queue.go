package shardq

import (
	"context"
	"time"
	"unsafe"

	"github.com/shardq/shardq/shard"
)

// Claim returns a claim to the next ready item, and takes the item into processing.
//
// Claim blocks until an item is ready, ctx ends, or the queue is shut down and nothing
// is ready. It returns ctx.Err() or [ErrShutDown], as [Queue.GetContext] does.
func (q *Queue[T]) Claim(ctx context.Context) (claim Claim[T], err error) {
	item, priority, h, err := q.shards.Take(ctx)
	if err == nil {
		q.make(&claim, item, priority, h)
	}
	return claim, err
}

// TryClaim is [Queue.Claim] without blocking: it returns false if no item is ready.
func (q *Queue[T]) TryClaim() (claim Claim[T], ok bool) {
	item, priority, h, ok := q.shards.TryTake()
	if ok {
		q.make(&claim, item, priority, h)
	}
	return claim, ok
}

// make makes a claim to the processing of an item where it belongs. A copy would cost as
// much as the rest.
func (q *Queue[T]) make(claim *Claim[T], item T, priority int, h shard.Handle) {
	claim.Item, claim.Priority = item, priority
	claim.owner, claim.token = q.claims(), q.token(h)
}

// claimsAtOnce is how many claims ClaimBatch and DoneClaims deal with at a time: their
// handles lie on the stack.
const claimsAtOnce = 64

// ClaimBatch is [Queue.Claim] for as many items as dst has room for. It blocks until
// one is ready, claims what is ready then, and returns how many items that was. With an
// error n is 0. If dst has no room, ClaimBatch returns 0 and nil at once.
func (q *Queue[T]) ClaimBatch(ctx context.Context, dst []Claim[T]) (n int, err error) {
	if len(dst) == 1 {
		item, priority, h, err := q.shards.Take(ctx)
		if err != nil {
			return 0, err
		}
		q.make(&dst[0], item, priority, h)
		return 1, nil
	}
	for n < len(dst) {
		got, most := 0, 1
		if unsafe.Sizeof(dst[0].Item) > largeItem {
			got, err = q.claimLarge(ctx, &dst[n], n == 0)
		} else {
			most = min(claimsAtOnce, len(dst)-n)
			got, err = q.claimSome(ctx, dst[n:n+most], n == 0)
		}
		if err != nil {
			return 0, err
		}
		if n += got; got < most {
			break
		}
	}
	return n, nil
}

// largeItem is the size beyond which items do not pass through a buffer on the stack.
const largeItem = 256

// claimSome claims what is ready. It waits for that, and looks at the clock, which may
// panic, only if it is the first: what was claimed before would be lost.
func (q *Queue[T]) claimSome(ctx context.Context, dst []Claim[T], first bool) (n int, err error) {
	var items [claimsAtOnce]T
	var priorities [claimsAtOnce]int
	var handles [claimsAtOnce]shard.Handle
	if first {
		n, err = q.shards.TakeBatch(ctx, items[:len(dst)], priorities[:], handles[:])
	} else {
		n = q.shards.TakeMore(items[:len(dst)], priorities[:], handles[:])
	}
	for i := range n {
		q.make(&dst[i], items[i], priorities[i], handles[i])
	}
	return n, err
}

// claimLarge is claimSome for one item, which it takes into the claim itself.
func (q *Queue[T]) claimLarge(ctx context.Context, dst *Claim[T], first bool) (n int, err error) {
	var priority [1]int
	var handle [1]shard.Handle
	item := unsafe.Slice(&dst.Item, 1)
	if first {
		n, err = q.shards.TakeBatch(ctx, item, priority[:], handle[:])
	} else {
		n = q.shards.TakeMore(item, priority[:], handle[:])
	}
	if n > 0 {
		dst.Priority, dst.owner, dst.token = priority[0], q.claims(), q.token(handle[0])
	}
	return n, err
}

// DoneClaims is [Claim.Done] of each of the claims, which need not have come from one
// ClaimBatch, with the cost of [Queue.DoneBatch]. It returns [ErrClaimEnded] if some of
// them had ended or are of another queue. The others are done, also if the limiter, the
// clock or a hook panics.
func (q *Queue[T]) DoneClaims(claims []Claim[T]) error {
	allEnded := true
	defer func() { q.doneEach(claims) }() // beside a panic; otherwise none are left
	for len(claims) > 0 {
		some := claims[:min(claimsAtOnce, len(claims))]
		claims = claims[len(some):]
		allEnded = q.doneSome(some) && allEnded
	}
	return claimError(allEnded)
}

// doneSome is DoneClaims of some claims, which end in their order. If the limiter panics,
// it does the rest as well.
func (q *Queue[T]) doneSome(claims []Claim[T]) (allEnded bool) {
	var b claimBatch
	complete := false
	defer func() {
		if !complete {
			defer q.doneEach(claims[b.length:])
		}
		allEnded = len(q.shards.EndBatch(b.handles[:b.length])) == 0
	}()
	for i := range claims {
		c := &claims[i]
		h := q.handleIn(c)
		forget := h != shard.Handle{} && q.mayHaveFailed(c.Item)
		if forget {
			h, forget = q.shards.Seal(h)
		}
		if b.add(h); forget {
			q.limiter.Forget(c.Item)
		}
	}
	complete = true
	return allEnded
}

// doneEach is DoneClaims beside a panic, which goes on: others are swallowed.
func (q *Queue[T]) doneEach(claims []Claim[T]) {
	if len(claims) == 0 {
		return
	}
	defer func() { _ = recover() }()
	forEach(len(claims), func(i int) {
		if q.handleIn(&claims[i]) != (shard.Handle{}) {
			_ = claims[i].Done()
		}
	})
}

// A claimBatch has the handles of some claims.
type claimBatch struct {
	handles [claimsAtOnce]shard.Handle
	length  int
}

func (b *claimBatch) add(h shard.Handle) {
	b.handles[b.length] = h
	b.length++
}

// mayHaveFailed reports whether the limiter may have a history of the item. It asks the
// queue's own limiter alone, which never panics: a user's may keep more than it counts.
func (q *Queue[T]) mayHaveFailed(item T) bool {
	return !q.ownLimiter || !q.unfailed.Load() && q.limiter.NumRequeues(item) > 0
}

func claimError(ok bool) error {
	if !ok {
		return ErrClaimEnded
	}
	return nil
}

// A queueClaims is the queue as the owner of its claims.
type queueClaims[T comparable] Queue[T]

func (q *Queue[T]) claims() *queueClaims[T] { return (*queueClaims[T])(q) }
func (o *queueClaims[T]) queue() *Queue[T]  { return (*Queue[T])(o) }
func (o *queueClaims[T]) Name() string      { return o.name }

func (q *Queue[T]) token(h shard.Handle) ClaimToken {
	return ClaimToken{ID: h.Place(), Fence: q.firstFence + h.Fence()}
}

// handle returns the handle of a token, or one that names nothing if the queue has not
// made the token.
func (q *Queue[T]) handle(token ClaimToken) shard.Handle {
	if token.ID>>32 >= uint64(q.configuration.Shards) {
		return shard.Handle{}
	}
	return shard.HandleAt(token.ID, token.Fence-q.firstFence)
}

// handleIn returns the handle of a claim of the queue, and otherwise one that names nothing.
func (q *Queue[T]) handleIn(c *Claim[T]) shard.Handle {
	if owner, is := c.owner.(*queueClaims[T]); !is || owner != q.claims() {
		return shard.Handle{}
	}
	return q.handle(c.token)
}

// DoneClaim is [Claim.Done].
func (o *queueClaims[T]) DoneClaim(item T, token ClaimToken) error {
	q := o.queue()
	if q.mayHaveFailed(item) {
		return q.forgetAndEnd(item, q.handle(token))
	}
	return claimError(q.shards.End(q.handle(token)))
}

func (q *Queue[T]) forgetAndEnd(item T, h shard.Handle) error {
	only, ok := q.shards.Seal(h)
	if !ok {
		return ErrClaimEnded
	}
	defer q.shards.End(only)
	q.limiter.Forget(item)
	return nil
}

// ReturnClaim is [Claim.Return].
func (o *queueClaims[T]) ReturnClaim(item T, token ClaimToken, how ClaimReturn) error {
	q := o.queue()
	h := q.handle(token)
	if how.Reason == ReturnRelease && how.Refused == nil {
		return claimError(q.shards.Release(h, how.Priority))
	}
	// The limiter must not be asked for a claim that has ended, nor under the lock: it
	// counts, and it is the user's. So one lock more keeps all others from ending it.
	only, ok := q.shards.Seal(h)
	if !ok {
		return ErrClaimEnded
	}
	r := queueReturn[T]{q, item, only, how}
	return r.carryOut()
}

// ClaimValid is [Claim.Valid].
func (o *queueClaims[T]) ClaimValid(token ClaimToken) bool {
	return o.shards.Valid(o.queue().handle(token))
}

// ClaimFailures is [Claim.Failures].
func (o *queueClaims[T]) ClaimFailures(item T) int { return o.limiter.NumRequeues(item) }

// ReportFailure logs an attempt that failed.
func (o *queueClaims[T]) ReportFailure(ctx context.Context, f Failure[T], panicked *PanicError) {
	o.queue().reportFailure(ctx, f.Item, f.Attempt, f.Err, panicked)
}

// ReportDiscard counts and logs an item that is given up.
func (o *queueClaims[T]) ReportDiscard(ctx context.Context, f Failure[T], panicked *PanicError) {
	o.queue().reportDiscard(ctx, f.Item, f.Attempt, f.Err, panicked)
}

func (q *Queue[T]) reportFailure(ctx context.Context, item T, attempt int, err error, panicked *PanicError) {
	if q.log != nil {
		q.log.failure(ctx, item, attempt, err, panicked)
	}
}

func (q *Queue[T]) reportDiscard(ctx context.Context, item T, attempt int, err error, panicked *PanicError) {
	q.shards.GiveUp()
	if q.log != nil {
		q.log.givenUp(ctx, item, attempt, err, panicked)
	}
}

// A queueReturn is the return of an item whose claim nobody else can end any more.
type queueReturn[T comparable] struct {
	queue *Queue[T]
	item  T
	only  shard.Handle
	how   ClaimReturn
}

// carryOut has the item come again, or gives it up.
func (r *queueReturn[T]) carryOut() error {
	if r.how.Refused != nil && !r.queue.shards.TakesBack() {
		return r.refuse() // it is told of, and does not count as dropped
	}
	known := false
	defer func() {
		if !known {
			r.comeAtOnce()
		}
	}()
	d := time.Duration(0)
	if r.queue.shards.TakesBack() { // otherwise no failure is counted
		d = r.queue.returnDelay(r.item, r.how)
	}
	known = true
	return r.come(d)
}

// returnDelay returns the delay with which an item comes again. It calls the limiter.
func (q *Queue[T]) returnDelay(item T, how ClaimReturn) time.Duration {
	switch how.Reason {
	case ReturnRetry:
		return q.backOff(item)
	case ReturnRequeue:
		q.limiter.Forget(item)
		return how.After
	}
	return 0
}

// comeAtOnce is for an item whose delay the limiter could not tell.
func (r *queueReturn[T]) comeAtOnce() {
	if r.how.Refused == nil {
		r.queue.shards.Release(r.only, r.how.Priority)
	} else {
		_ = r.come(0)
	}
}

func (r *queueReturn[T]) come(after time.Duration) error {
	d := shard.Delay{Duration: after, Priority: r.how.Priority, Retry: true}
	switch r.queue.shards.Retry(r.only, d) {
	case shard.TakenBack:
		return nil
	case shard.Refused:
		return r.refuse()
	}
	return ErrClaimEnded // by a Done of the item
}

// refuse ends the claim of an item that cannot come again.
func (r *queueReturn[T]) refuse() error {
	defer r.queue.shards.End(r.only)
	if r.how.Refused != nil {
		defer r.queue.limiter.Forget(r.item)
		r.how.Refused()
	}
	return ErrShutDown
}
