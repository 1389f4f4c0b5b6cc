package shardq

import (
	"context"
	"errors"
	"time"

	"github.com/shardq/shardq/shard"
)

// A Claim is the right to one processing of an item, and the means to end it. Exactly
// one call ends it: Done, Retry, RequeueAfter or Release, of the Claim or of a copy. Every
// later call returns [ErrClaimEnded] and changes nothing, also while another consumer
// has the item. So a consumer that comes too late cannot end the turn of another, which
// [Queue.Done] cannot know: that names nothing but the item.
//
// [Queue.Done] of the item ends the Claim, too.
//
// A Claim is a small value. Copies are the same Claim. Its methods are safe for
// concurrent use, and none of them blocks. They do not call Options.Hash or
// Options.Group. The zero Claim has ended.
type Claim[T comparable] struct {
	// Item is the item. Do not change it.
	Item T
	// Priority is the priority with which the item was ready. Retry, RequeueAfter and
	// Release ask for the same again.
	Priority int

	queue  *Queue[T]
	handle shard.Handle
}

// ErrClaimEnded is what the methods of a [Claim] return if the claim has ended.
var ErrClaimEnded = errors.New("shardq: claim has ended")

// Claim returns a claim to the next ready item, and takes the item into processing.
//
// Claim blocks until an item is ready, ctx ends, or the queue is shut down and nothing
// is ready. It returns ctx.Err() or [ErrShutDown], as [Queue.GetContext] does.
func (q *Queue[T]) Claim(ctx context.Context) (Claim[T], error) {
	item, priority, h, err := q.shards.Take(ctx)
	if err != nil {
		return Claim[T]{}, err
	}
	return Claim[T]{item, priority, q, h}, nil
}

// TryClaim is [Queue.Claim] without blocking: it returns false if no item is ready.
func (q *Queue[T]) TryClaim() (claim Claim[T], ok bool) {
	item, priority, h, ok := q.shards.TryTake()
	if !ok {
		return claim, false
	}
	return Claim[T]{item, priority, q, h}, true
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
		dst[i] = Claim[T]{items[i], priorities[i], q, handles[i]}
	}
	return n, err
}

// Done ends the claim. If the item was added meanwhile, it becomes ready again; otherwise
// the queue keeps nothing of it, unless a delay runs. The limiter forgets the item's
// failures. If the limiter panics, the claim has ended all the same.
func (c Claim[T]) Done() error {
	if c.queue == nil {
		return ErrClaimEnded
	}
	if !c.queue.mayHaveFailed(c.Item) {
		return claimError(c.queue.shards.End(c.handle))
	}
	only, ok := c.queue.shards.Seal(c.handle)
	if !ok {
		return ErrClaimEnded
	}
	defer c.queue.shards.End(only)
	c.queue.limiter.Forget(c.Item)
	return nil
}

// Retry ends the claim of an item that has failed. The item becomes ready again, with the
// same priority, after the delay that the limiter has for it. Once a shutdown has begun, Retry
// drops the item and returns [ErrShutDown], unless a [Queue.Drain] takes retries in. If the
// limiter panics, the item is ready again at once.
func (c Claim[T]) Retry() error {
	return c.comeBack(func() time.Duration { return c.queue.backOff(c.Item) })
}

// RequeueAfter ends the claim of an item that has not failed. The item becomes ready
// again, with the same priority, after d, or at once if d is zero or less. The limiter forgets
// the item's failures. Once a shutdown has begun, RequeueAfter returns what Retry returns.
func (c Claim[T]) RequeueAfter(d time.Duration) error {
	return c.comeBack(func() time.Duration {
		c.queue.limiter.Forget(c.Item)
		return d
	})
}

// comeBack ends the claim and has the item come again. It calls delay, the user's code, when
// nobody else can end the claim any more.
func (c Claim[T]) comeBack(delay func() time.Duration) error {
	if c.queue == nil {
		return ErrClaimEnded
	}
	only, ok := c.queue.shards.Seal(c.handle)
	if !ok {
		return ErrClaimEnded
	}
	known := false
	defer func() {
		if !known {
			c.queue.shards.Release(only, c.Priority)
		}
	}()
	d := time.Duration(0)
	if c.queue.shards.TakesBack() { // otherwise no failure is counted
		d = delay()
	}
	known = true
	came := c.queue.shards.Retry(only, shard.Delay{Duration: d, Priority: c.Priority, Retry: true})
	if came == shard.Refused {
		return ErrShutDown
	}
	return claimError(came == shard.TakenBack)
}

// Release ends the claim and gives the item back: it is ready again, with the same
// priority, last in its shard. No failure is counted, and the limiter keeps the item's
// history. Release also works once a shutdown has begun: a drain then waits for the item.
func (c Claim[T]) Release() error {
	if c.queue == nil {
		return ErrClaimEnded
	}
	return claimError(c.queue.shards.Release(c.handle, c.Priority))
}

// Valid reports whether the claim has not ended. Another goroutine may end it right after.
func (c Claim[T]) Valid() bool { return c.queue != nil && c.queue.shards.Valid(c.handle) }

// Fence returns a number that is greater for each later hand-out of the item. A sink that
// remembers the greatest number it has seen for an item can refuse writes of a consumer whose
// claim has ended (a fencing token: M. Kleppmann, "How to do distributed locking", 2016).
//
// The numbers of different items are not in any order. They start at the real time at which
// the queue was made, in nanoseconds since 1970, so that they grow across restarts as well,
// unless the system's clock is set back. They exceed 2⁵³, which is where a
// float64, and so JavaScript, stops to count by ones.
func (c Claim[T]) Fence() uint64 {
	if c.queue == nil {
		return 0
	}
	return c.queue.firstFence + c.handle.Fence()
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
		for _, c := range claims[b.length:] {
			b.add(c.handleIn(q))
		}
		allEnded = len(q.shards.EndBatch(b.handles[:b.length])) == 0
	}()
	for _, c := range claims {
		h := c.handleIn(q)
		forget := c.queue == q && q.mayHaveFailed(c.Item)
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
		for _, c := range claims[:n] {
			b.add(c.handleIn(q))
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

// handleIn returns the handle of a claim of the queue, and otherwise one that names nothing.
func (c Claim[T]) handleIn(q *Queue[T]) shard.Handle {
	if c.queue != q {
		return shard.Handle{}
	}
	return c.handle
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
