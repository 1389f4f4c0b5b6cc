package shardq

import (
	"errors"
	"fmt"
	"time"
)

// A Claim is the right to one processing of an item, and the means to end it. Exactly
// one call ends it: Done, Retry, RequeueAfter, Release or Return, of the Claim or of a
// copy. Every later call returns [ErrClaimEnded] and changes nothing, also while another
// consumer has the item. So a consumer that comes too late cannot end the turn of
// another, which [Queue.Done] cannot know: that names nothing but the item.
//
// [Queue.Done] of the item ends a claim of a [Queue], too.
//
// A Claim is a small value. Copies are the same Claim. Its methods are safe for
// concurrent use, and none of them blocks. Those of a claim of a Queue do not call
// Options.Hash or Options.Group. The zero Claim has ended.
//
// What is said here holds for the claims of a Queue and of a [Coalescer]. A [Source] of
// another kind makes claims by [NewClaim], and its [ClaimOwner] ends them.
type Claim[T any] struct {
	// Item is the item. Do not change it.
	Item T
	// Priority is the priority with which the item was ready. Retry, RequeueAfter and
	// Release ask for the same again.
	Priority int

	owner ClaimOwner[T]
	token ClaimToken
}

// A ClaimOwner ends the claims that it made by [NewClaim]: the methods of a [Claim] call
// it. All methods are safe for concurrent use. It should be a pointer, so that a claim
// allocates nothing.
//
// Of all calls of DoneClaim and ReturnClaim for one token, the first ends the claim. The
// others return [ErrClaimEnded] and change nothing.
//
// An owner may also have a Name() string, for [Failure].Queue, and the methods of a
// [FailureReporter].
type ClaimOwner[T any] interface {
	// DoneClaim ends the claim, and forgets the failures of the item: it is through,
	// or given up.
	DoneClaim(item T, token ClaimToken) error

	// ReturnClaim ends the claim, and has the item come again as the ClaimReturn says.
	// If the item cannot come again, the claim ends nevertheless, and ReturnClaim
	// returns [ErrShutDown], or an error of its own.
	ReturnClaim(item T, token ClaimToken, how ClaimReturn) error

	// ClaimValid reports whether the claim has not ended.
	ClaimValid(token ClaimToken) bool

	// ClaimFailures returns how often the item has failed since its failures were last
	// forgotten. An owner that does not count them returns 0.
	ClaimFailures(item T) int
}

// A ClaimToken is what the owner of a claim knows it by.
type ClaimToken struct {
	// ID is a number of the owner's choice.
	ID uint64
	// Fence is what [Claim.Fence] returns: greater for each later hand-out of an item,
	// or 0 if the owner has no such number.
	Fence uint64
}

// A ReturnReason says why an item comes again.
type ReturnReason uint8

const (
	// ReturnRetry is for an item that has failed: see [Claim.Retry]. The owner counts the
	// failure, and the item comes again after the delay that the owner has for so many.
	ReturnRetry ReturnReason = iota
	// ReturnRequeue is for an item that has not failed: see [Claim.RequeueAfter]. The
	// owner forgets its failures, and the item comes again after [ClaimReturn].After.
	ReturnRequeue
	// ReturnRelease is for an item that was not processed: see [Claim.Release]. The
	// owner leaves its failures alone, and the item comes again at once.
	ReturnRelease
)

// A ClaimReturn says how the item of a claim comes again: see [Claim.Return].
type ClaimReturn struct {
	// Reason says what becomes of the item's failures, and when it comes again.
	Reason ReturnReason
	// After is the delay of a ReturnRequeue.
	After time.Duration
	// Priority is that of the claim. Claim.Return fills it in.
	Priority int
	// Refused, if not nil, gives the item up if it cannot come again. The owner calls
	// it once, with no lock held, and then ends the claim as DoneClaim does, also if
	// Refused panics. So what waits for the end of the claim waits for Refused.
	// A ReturnRelease is refused only if Refused is set.
	//
	// A ClaimOwner may leave Refused alone, and return an error: [Workers] see to it
	// afterwards.
	Refused func()
}

// ErrClaimEnded is what the methods of a [Claim] return if the claim has ended.
var ErrClaimEnded = errors.New("shardq: claim has ended")

// NewClaim returns a claim that owner ends, for a [Source] that is not a [Queue]. Owner
// finds its own by the token.
func NewClaim[T any](item T, priority int, owner ClaimOwner[T], token ClaimToken) Claim[T] {
	return Claim[T]{item, priority, owner, token}
}

// Owner returns what ends the claim: nil for the zero Claim.
func (c Claim[T]) Owner() ClaimOwner[T] { return c.owner }

// Token returns what the owner knows the claim by.
func (c Claim[T]) Token() ClaimToken { return c.token }

// Done ends the claim. If the item was added meanwhile, it becomes ready again; otherwise
// the queue keeps nothing of it, unless a delay runs. The limiter forgets the item's
// failures. If the limiter panics, the claim has ended all the same.
func (c Claim[T]) Done() error {
	if c.owner == nil {
		return ErrClaimEnded
	}
	return c.owner.DoneClaim(c.Item, c.token)
}

// Retry ends the claim of an item that has failed. The item becomes ready again, with the
// same priority, after the delay that the limiter has for it. Once a shutdown has begun, Retry
// drops the item and returns [ErrShutDown], unless a [Queue.Drain] takes retries in. If the
// limiter panics, the item is ready again at once.
func (c Claim[T]) Retry() error { return c.Return(ClaimReturn{Reason: ReturnRetry}) }

// RequeueAfter ends the claim of an item that has not failed. The item becomes ready
// again, with the same priority, after d, or at once if d is zero or less. The limiter forgets
// the item's failures. Once a shutdown has begun, RequeueAfter returns what Retry returns.
func (c Claim[T]) RequeueAfter(d time.Duration) error {
	return c.Return(ClaimReturn{Reason: ReturnRequeue, After: d})
}

// Release ends the claim and gives the item back: it is ready again, with the same
// priority, last in its shard. No failure is counted, and the limiter keeps the item's
// history. Release also works once a shutdown has begun: a drain then waits for the item.
func (c Claim[T]) Release() error { return c.Return(ClaimReturn{Reason: ReturnRelease}) }

// Return is Retry, RequeueAfter or Release, by its Reason. With a Refused, the item is
// given up if it cannot come again: the claim ends after the call of Refused, and the
// limiter forgets the item's failures. An unknown Reason panics.
func (c Claim[T]) Return(how ClaimReturn) error {
	if how.Reason > ReturnRelease {
		panic(fmt.Sprintf("shardq: ClaimReturn.Reason is %d: want ReturnRetry, ReturnRequeue or ReturnRelease", how.Reason))
	}
	if c.owner == nil {
		return ErrClaimEnded
	}
	how.Priority = c.Priority
	return c.owner.ReturnClaim(c.Item, c.token, how)
}

// Valid reports whether the claim has not ended. Another goroutine may end it right after.
func (c Claim[T]) Valid() bool { return c.owner != nil && c.owner.ClaimValid(c.token) }

// Failures returns how often the item has failed, according to the limiter, since it was
// last forgotten: [Queue.NumRequeues]. This attempt does not count yet.
func (c Claim[T]) Failures() int {
	if c.owner == nil {
		return 0
	}
	return c.owner.ClaimFailures(c.Item)
}

// Fence returns a number that is greater for each later hand-out of the item. A sink that
// remembers the greatest number it has seen for an item can refuse writes of a consumer whose
// claim has ended (a fencing token: M. Kleppmann, "How to do distributed locking", 2016).
//
// The numbers of different items are not in any order. They start at the real time at which
// the queue was made, in nanoseconds since 1970, so that they grow across restarts as well,
// unless the system's clock is set back. They exceed 2⁵³, which is where a
// float64, and so JavaScript, stops to count by ones.
func (c Claim[T]) Fence() uint64 { return c.token.Fence }
