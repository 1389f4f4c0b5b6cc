package shardq

import (
	"context"
	"time"

	"github.com/shardq/shardq/shard"
)

// Claim returns a claim to the next ready item, and takes the item into processing.
//
// Claim blocks until an item is ready, ctx ends, or the queue is shut down and nothing
// is ready. It returns ctx.Err() or [ErrShutDown], as [Queue.GetContext] does.
func (q *Queue[T]) Claim(ctx context.Context) (Claim[T], error) {
	item, priority, h, err := q.shards.Take(ctx)
	if err != nil {
		return Claim[T]{}, err
	}
	return q.claimAt(item, priority, h), nil
}

// TryClaim is [Queue.Claim] without blocking: it returns false if no item is ready.
func (q *Queue[T]) TryClaim() (claim Claim[T], ok bool) {
	item, priority, h, ok := q.shards.TryTake()
	if !ok {
		return claim, false
	}
	return q.claimAt(item, priority, h), true
}

// claimsAtOnce is how many claims ClaimBatch and DoneClaims deal with at a time: their
// handles lie on the stack.
const claimsAtOnce = 64

// ClaimBatch is [Queue.Claim] for as many items as dst has room for. It blocks until
// one is ready, claims what is ready then, and returns how many items that was. With an
// error n is 0. If dst has no room, ClaimBatch returns 0 and nil at once.
func (q *Queue[T]) ClaimBatch(ctx context.Context, dst []Claim[T]) (n int, err error) {
	for n < len(dst) {
		got, err := q.claimSome(ctx, dst[n:min(n+claimsAtOnce, len(dst))], n == 0)
		if err != nil {
			return 0, err
		}
		if n += got; got < claimsAtOnce {
			break
		}
	}
	return n, nil
}

func (q *Queue[T]) claimSome(ctx context.Context, dst []Claim[T], wait bool) (n int, err error) {
	var items [claimsAtOnce]T
	var priorities [claimsAtOnce]int
	var handles [claimsAtOnce]shard.Handle
	if wait {
		n, err = q.shards.TakeBatch(ctx, items[:len(dst)], priorities[:], handles[:])
	} else {
		n = q.shards.TryTakeBatch(items[:len(dst)], priorities[:], handles[:])
	}
	for i := range n {
		dst[i] = q.claimAt(items[i], priorities[i], handles[i])
	}
	return n, err
}

// DoneClaims is [Claim.Done] of each of the claims, which need not have come from one
// ClaimBatch, with the cost of [Queue.DoneBatch]. It returns [ErrClaimEnded] if some of
// them had ended or are of another queue. The others are done.
func (q *Queue[T]) DoneClaims(claims []Claim[T]) error {
	allEnded := true
	for len(claims) > 0 {
		n := min(len(claims), claimsAtOnce)
		allEnded = q.doneSome(claims[:n], claims[n:]) && allEnded
		claims = claims[n:]
	}
	return claimError(allEnded)
}

// doneSome is DoneClaims of some claims, which end in their order. If the limiter panics,
// the rest ends, too.
func (q *Queue[T]) doneSome(claims, rest []Claim[T]) (allEnded bool) {
	var b claimBatch
	complete := false
	defer func() {
		if !complete {
			defer q.endClaims(rest)
		}
		for i := b.length; i < len(claims); i++ {
			b.add(q.handleIn(&claims[i]))
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

// endClaims ends claims, and leaves their histories.
func (q *Queue[T]) endClaims(claims []Claim[T]) {
	for len(claims) > 0 {
		var b claimBatch
		n := min(len(claims), claimsAtOnce)
		for i := range n {
			b.add(q.handleIn(&claims[i]))
		}
		q.shards.EndBatch(b.handles[:n])
		claims = claims[n:]
	}
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

func (q *Queue[T]) claims() *queueClaims[T]              { return (*queueClaims[T])(q) }
func (o *queueClaims[T]) queue() *Queue[T]               { return (*Queue[T])(o) }
func (o *queueClaims[T]) Name() string                   { return o.name }
func (o *queueClaims[T]) handle(c Claim[T]) shard.Handle { return o.queue().handle(c.token) }

// claimAt returns the claim to the processing of an item.
func (q *Queue[T]) claimAt(item T, priority int, h shard.Handle) Claim[T] {
	return Claim[T]{item, priority, q.claims(), q.token(h)}
}

func (q *Queue[T]) token(h shard.Handle) ClaimToken {
	return ClaimToken{ID: h.Place(), Fence: q.firstFence + h.Fence()}
}

func (q *Queue[T]) handle(t ClaimToken) shard.Handle {
	return shard.HandleAt(t.ID, t.Fence-q.firstFence)
}

// handleIn returns the handle of a claim of the queue, and otherwise one that names nothing.
func (q *Queue[T]) handleIn(c *Claim[T]) shard.Handle {
	if c.owner != ClaimOwner[T](q.claims()) {
		return shard.Handle{}
	}
	return q.handle(c.token)
}

// DoneClaim is [Claim.Done].
func (o *queueClaims[T]) DoneClaim(c Claim[T]) error {
	q, h := o.queue(), o.handle(c)
	if !q.mayHaveFailed(c.Item) {
		return claimError(q.shards.End(h))
	}
	only, ok := q.shards.Seal(h)
	if !ok {
		return ErrClaimEnded
	}
	defer q.shards.End(only)
	q.limiter.Forget(c.Item)
	return nil
}

// ReturnClaim is [Claim.Return].
func (o *queueClaims[T]) ReturnClaim(c Claim[T], how ClaimReturn) error {
	q, h := o.queue(), o.handle(c)
	if how.Reason == ReturnRelease && how.Refused == nil {
		return claimError(q.shards.Release(h, c.Priority))
	}
	// The limiter must not be asked for a claim that has ended, nor under the lock: it
	// counts, and it is the user's. So one lock more keeps all others from ending it.
	only, ok := q.shards.Seal(h)
	if !ok {
		return ErrClaimEnded
	}
	r := queueReturn[T]{q, c.Item, c.Priority, only, how}
	return r.carryOut()
}

// ClaimValid is [Claim.Valid].
func (o *queueClaims[T]) ClaimValid(c Claim[T]) bool { return o.shards.Valid(o.handle(c)) }

// ClaimFailures is [Claim.Failures].
func (o *queueClaims[T]) ClaimFailures(c Claim[T]) int { return o.limiter.NumRequeues(c.Item) }

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
	queue    *Queue[T]
	item     T
	priority int
	only     shard.Handle
	how      ClaimReturn
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
		r.queue.shards.Release(r.only, r.priority)
	} else {
		_ = r.come(0)
	}
}

func (r *queueReturn[T]) come(after time.Duration) error {
	d := shard.Delay{Duration: after, Priority: r.priority, Retry: true}
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
