package shardq

import (
	"context"
	"iter"
	"time"
	"unsafe"

	"github.com/shardq/shardq/internal/foreach"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/worker"
)

// Claim takes the next ready item into processing, and returns the right to end
// that processing. A [worker.Claim] ends once, and a late end changes nothing.
// Claim blocks, and returns errors, as [Queue.GetContext] does.
func (q *Queue[T]) Claim(ctx context.Context) (claim worker.Claim[T], err error) {
	item, priority, h, err := q.set().Take(ctx)
	if err == nil {
		q.make(&claim, item, priority, h)
	}
	return claim, err
}

// TryClaim is [Queue.Claim] without blocking. It returns false if no item is
// ready.
func (q *Queue[T]) TryClaim() (claim worker.Claim[T], ok bool) {
	item, priority, h, ok := q.set().TryTake()
	if ok {
		q.make(&claim, item, priority, h)
	}
	return claim, ok
}

// make makes a claim in place. A copy would cost as much as the rest.
func (q *Queue[T]) make(claim *worker.Claim[T], item T, priority int, h shard.Handle) {
	claim.Reset(item, priority, q.claims(), q.base.tokens.Of(h))
}

// claimsAtOnce is how many claims ClaimBatch and DoneClaims process at a time.
// Their handles are on the stack.
const claimsAtOnce = 64

// ClaimBatch is [Queue.Claim] for up to len(dst) items. It blocks until an item
// is ready, claims the items that are ready then, and returns their number.
// With this method, a Queue is a [worker.Source].
func (q *Queue[T]) ClaimBatch(ctx context.Context, dst []worker.Claim[T]) (n int, err error) {
	if len(dst) == 1 {
		item, priority, h, err := q.set().Take(ctx)
		if err != nil {
			return 0, err
		}
		q.make(&dst[0], item, priority, h)
		return 1, nil
	}
	_ = q.made()
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

// largeItem is the size beyond which items do not pass through a buffer on the
// stack.
const largeItem = 256

// claimSome claims what is ready. Only the first call of a ClaimBatch waits and
// reads the clock, which may panic: later, claims would be lost.
func (q *Queue[T]) claimSome(ctx context.Context, dst []worker.Claim[T], first bool) (n int, err error) {
	var items [claimsAtOnce]T
	var priorities [claimsAtOnce]int
	var handles [claimsAtOnce]shard.Handle
	n, err = q.takeSome(ctx, items[:len(dst)], priorities[:], handles[:], first)
	for i := range n {
		q.make(&dst[i], items[i], priorities[i], handles[i])
	}
	return n, err
}

// claimLarge is claimSome for one item, which it takes into the claim itself.
func (q *Queue[T]) claimLarge(ctx context.Context, dst *worker.Claim[T], first bool) (n int, err error) {
	var priority [1]int
	var handle [1]shard.Handle
	if n, err = q.takeSome(ctx, unsafe.Slice(&dst.Item, 1), priority[:], handle[:], first); n > 0 {
		q.make(dst, dst.Item, priority[0], handle[0])
	}
	return n, err
}

func (q *Queue[T]) takeSome(
	ctx context.Context, items []T, priorities []int, handles []shard.Handle, first bool,
) (int, error) {
	if first {
		return q.shards.TakeBatch(ctx, items, priorities, handles)
	}
	return q.shards.TakeMore(items, priorities, handles), nil
}

// DoneClaims ends each of the claims by Done, at a lower cost. It returns
// [worker.ErrClaimEnded] if some of them had ended or are of another queue. The
// others end, also if user code panics.
func (q *Queue[T]) DoneClaims(claims []worker.Claim[T]) error {
	_ = q.made()
	allEnded := true
	defer func() { q.doneEach(claims) }() // beside a panic; otherwise none are left
	for len(claims) > 0 {
		some := claims[:min(claimsAtOnce, len(claims))]
		claims = claims[len(some):]
		allEnded = q.doneSome(some) && allEnded
	}
	return claimError(allEnded)
}

// doneSome is DoneClaims of some claims, which end in their order. It ends all
// of them even if the limiter panics.
func (q *Queue[T]) doneSome(claims []worker.Claim[T]) (allEnded bool) {
	var handles [claimsAtOnce]shard.Handle
	n, complete := 0, false
	defer func() {
		if !complete {
			defer q.doneEach(claims[n:])
		}
		allEnded = len(q.base.core.EndBatch(handles[:n])) == 0
	}()
	for i := range claims {
		c := &claims[i]
		h := q.handleIn(c)
		forget := h != shard.Handle{} && q.mayHaveFailed(c.Item)
		if forget {
			h, forget = q.base.core.Seal(h)
		}
		handles[n] = h
		if n++; forget {
			q.forgetIn(h, c.Item)
		}
	}
	complete = true
	return allEnded
}

// doneEach is DoneClaims during a panic. It recovers further panics.
func (q *Queue[T]) doneEach(claims []worker.Claim[T]) {
	if len(claims) == 0 {
		return
	}
	defer func() { _ = recover() }()
	foreach.Do(len(claims), func(i int) {
		if q.handleIn(&claims[i]) != (shard.Handle{}) {
			_ = claims[i].Done()
		}
	})
}

// mayHaveFailed reports whether the limiter may have a history of the item. It
// asks only the queue's own limiter, which never panics. A user's limiter may
// keep more than it counts.
func (q *Queue[T]) mayHaveFailed(item T) bool {
	return !q.ownLimiter || !q.unfailed.Load() && q.limiter.NumRequeues(item) > 0
}

func claimError(ok bool) error {
	if !ok {
		return worker.ErrClaimEnded
	}
	return nil
}

// A queueClaims is the queue as the owner of its claims: it implements
// [worker.Owner], [worker.Reporter], [worker.Describer] and [worker.Watcher].
type queueClaims[T comparable] Queue[T]

func (q *Queue[T]) claims() *queueClaims[T] { return (*queueClaims[T])(q) }
func (o *queueClaims[T]) queue() *Queue[T]  { return (*Queue[T])(o) }
func (o *queueClaims[T]) Name() string      { return o.base.name }

// handleIn returns the handle of a claim of the queue, or else the zero Handle.
func (q *Queue[T]) handleIn(c *worker.Claim[T]) shard.Handle {
	if owner, is := c.Owner().(*queueClaims[T]); !is || owner != q.claims() {
		return shard.Handle{}
	}
	return q.base.tokens.Handle(c.Token())
}

func (o *queueClaims[T]) DoneClaim(item T, token worker.Token) error {
	q := o.queue()
	if q.mayHaveFailed(item) {
		return q.forgetAndEnd(item, q.base.tokens.Handle(token))
	}
	return claimError(q.base.core.End(q.base.tokens.Handle(token)))
}

// DoneAndTake takes nothing if it had to call user code: the worker takes in
// its next turn.
func (o *queueClaims[T]) DoneAndTake(item T, h shard.Handle) (next T, priority int, at shard.Handle, ok bool, err error) {
	q := o.queue()
	if q.mayHaveFailed(item) {
		return next, 0, at, false, q.forgetAndEnd(item, h)
	}
	next, priority, at, ended, ok := q.shards.EndTake(h)
	return next, priority, at, ok, claimError(ended)
}

// doneAndNext ends a claim, and makes it that to the next item if it takes one.
func (q *Queue[T]) doneAndNext(c *worker.Claim[T]) (more bool, err error) {
	h := q.handleIn(c)
	if h == (shard.Handle{}) {
		return false, c.Done()
	}
	item, priority, at, more, err := q.claims().DoneAndTake(c.Item, h)
	if more {
		q.make(c, item, priority, at)
	}
	return more, err
}

func (q *Queue[T]) forgetAndEnd(item T, h shard.Handle) error {
	only, ok := q.base.core.Seal(h)
	if !ok {
		return worker.ErrClaimEnded
	}
	defer q.base.core.End(only)
	q.forgetIn(only, item)
	return nil
}

func (o *queueClaims[T]) ReturnClaim(item T, token worker.Token, how worker.Return) error {
	q := o.queue()
	h := q.base.tokens.Handle(token)
	if how.Reason == worker.ReturnRelease && how.Refused == nil {
		return claimError(q.base.core.Release(h, how.Priority))
	}
	if _, canceled := q.base.core.Changed(h); canceled {
		return claimError(q.base.core.End(h))
	}
	// The limiter counts, so it must not be asked for a claim that has ended.
	// It is user code, so it must not be asked under the lock. Seal takes the
	// lock once more, and keeps all others from ending the claim.
	only, ok := q.base.core.Seal(h)
	if !ok {
		return worker.ErrClaimEnded
	}
	return (&queueReturn[T]{q, item, only, how}).carryOut()
}

func (o *queueClaims[T]) ClaimValid(token worker.Token) bool {
	return o.base.core.Valid(o.base.tokens.Handle(token))
}

func (o *queueClaims[T]) ClaimFailures(item T) int { return o.limiter.NumRequeues(item) }

// FailingSince may return the time of failures that the limiter has forgotten:
// the pool asks the limiter first.
func (o *queueClaims[T]) FailingSince(item T) (first, now time.Time) {
	first, _ = o.base.firsts.Of(item)
	return first, o.base.clock.Now()
}

func (o *queueClaims[T]) ReportFailure(ctx context.Context, f worker.Failure[T], panicked *worker.PanicError) {
	o.base.outcomes.failed(ctx, failureOf(&f, panicked, o.base.now()))
}

func (o *queueClaims[T]) ReportSuccess(ctx context.Context) {
	o.base.outcomes.succeeded(ctx, o.base.now())
}

func (o *queueClaims[T]) ReportDiscard(ctx context.Context, f worker.Failure[T], panicked *worker.PanicError) {
	o.base.core.CountDiscard()
	defer o.shards.CloseWindow(f.Item)
	o.base.outcomes.discarded(ctx, failureOf(&f, panicked, o.base.now()))
}

func failureOf[T any](f *worker.Failure[T], panicked *worker.PanicError, now time.Time) failure {
	return failure{f.Item, f.Attempt, f.Final, f.Reason, f.Err, panicked, now}
}

// A queueReturn is the return of an item whose claim is sealed.
type queueReturn[T comparable] struct {
	queue *Queue[T]
	item  T
	only  shard.Handle
	how   worker.Return
}

// carryOut makes the item ready again, or discards it.
func (r *queueReturn[T]) carryOut() error {
	if r.how.Refused != nil && !r.queue.base.core.TakesBack() {
		return r.refuse() // the caller reports it, so it does not count as dropped
	}
	d, known := time.Duration(0), false
	defer func() {
		if !known {
			r.addAtOnce()
		}
	}()
	if r.queue.base.core.TakesBack() { // otherwise no failure is counted
		d = r.queue.returnDelay(r.only, r.item, r.how)
	}
	known = true
	return r.add(d)
}

// returnDelay calls the limiter.
func (q *Queue[T]) returnDelay(h shard.Handle, item T, how worker.Return) time.Duration {
	switch how.Reason {
	case worker.ReturnRetry:
		delay := max(q.backoff(item), how.After)
		if !how.FirstFailure.IsZero() {
			q.base.firsts.Keep(item, how.FirstFailure, q.base.hasFailed)
		}
		return delay
	case worker.ReturnRequeue:
		q.forgetIn(h, item)
		return how.After
	}
	return 0
}

// addAtOnce is for an item whose limiter has panicked.
func (r *queueReturn[T]) addAtOnce() {
	if r.how.Refused == nil {
		r.queue.base.core.Release(r.only, r.how.Priority)
	} else {
		_ = r.add(0)
	}
}

func (r *queueReturn[T]) add(after time.Duration) error {
	d := shard.Delay{Duration: after, Priority: r.how.Priority, Retry: r.how.Reason != worker.ReturnRelease,
		Reports: r.how.Refused != nil, Backoff: r.how.Reason == worker.ReturnRetry}
	switch r.queue.base.core.Retry(r.only, d) {
	case shard.TakenBack:
		return nil
	case shard.Refused:
		return r.refuse()
	case shard.Canceled: // while the limiter counted a failure
		defer r.queue.base.core.End(r.only)
		r.queue.forgetIn(r.only, r.item)
		return nil
	}
	return worker.ErrClaimEnded // by a Done of the item
}

// refuse ends the claim of an item that cannot become ready again.
func (r *queueReturn[T]) refuse() error {
	defer r.queue.base.core.End(r.only)
	if r.how.Refused != nil {
		defer r.queue.forgetIn(r.only, r.item)
		r.how.Refused()
	}
	return ErrShutDown
}

// Items returns an iterator over the items that [Queue.GetContext] returns, until
// it returns an error. The iterator calls Done for each item when the loop's body
// ends, also by break, return, a panic or runtime.Goexit. Several goroutines may
// iterate at once. Each item goes to one of them.
func (q *Queue[T]) Items(ctx context.Context) iter.Seq[T] {
	_ = q.made()
	return func(yield func(T) bool) {
		l := loop[T]{q: q, body: yield}
		for more := true; more; {
			if !l.has {
				var err error
				if l.item, _, l.at, err = q.shards.Take(ctx); err != nil {
					return
				}
			}
			more = l.turn(ctx)
		}
	}
}

type loop[T comparable] struct {
	q    *Queue[T]
	body func(T) bool
	item T
	at   shard.Handle
	has  bool // the next item is there
}

// turn runs the body of the loop. It ends the processing by the handle, because
// Done would call Hash, which may panic, and the item would stay in processing.
func (l *loop[T]) turn(ctx context.Context) (more bool) {
	defer func() {
		item, ended := l.item, false
		if l.has = false; more && ctx.Err() == nil {
			l.item, _, l.at, ended, l.has = l.q.shards.EndTake(l.at)
		} else {
			ended = l.q.base.core.End(l.at)
		}
		if !ended {
			l.q.shards.Misuse(item)
		}
	}()
	return l.body(l.item)
}
