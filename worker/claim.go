package worker

import (
	"errors"
	"fmt"
	"time"

	"github.com/shardq/shardq/internal/sentinel"
)

// A Claim is the right to one processing of an item. Exactly one call ends it:
// Done, Retry, RequeueAfter, Release or Return, of the Claim or of a copy.
// Every later call returns [ErrClaimEnded] and changes nothing, even while
// another worker has the item.
//
// A Claim is a small value. Its methods do not block and are safe for
// concurrent use. The zero Claim has ended. The methods are described as the
// claims of a queue and of a coalescer behave. A [Source] of another kind makes
// claims by [NewClaim], and its [Owner] decides how they end.
type Claim[T any] struct {
	// Item is the item. Do not change it.
	Item T
	// Priority is the priority with which the item was ready. Retry,
	// RequeueAfter and Release request it again.
	Priority int

	owner Owner[T]
	token Token
}

// An Owner ends the claims that it made by [NewClaim]. All methods must be safe
// for concurrent use. An Owner should be a pointer, so that a claim allocates
// nothing. Of all calls of DoneClaim and ReturnClaim for one token, the first
// ends the claim. The others return [ErrClaimEnded].
//
// An owner may also have a Name() string, which becomes [Failure].Queue, and
// the methods of a [Reporter], an [AttemptReporter], a [Describer] and a
// [Watcher].
type Owner[T any] interface {
	// DoneClaim ends the claim and forgets the item's failures, because the
	// item succeeded or was discarded.
	DoneClaim(item T, token Token) error

	// ReturnClaim ends the claim and makes the item ready again as how says.
	// If the item cannot become ready again, the claim ends all the same, and
	// ReturnClaim returns [ErrShutDown] or an error of its own.
	ReturnClaim(item T, token Token, how Return) error

	// ClaimValid reports whether the claim has not ended.
	ClaimValid(token Token) bool

	// ClaimFailures returns how often the item has failed since its failures
	// were last forgotten. An owner that does not count them returns 0.
	ClaimFailures(item T) int
}

// A Token is what the [Owner] of a claim knows it by.
type Token struct {
	// ID is a number of the owner's choice.
	ID uint64
	// Fence is the number that [Claim.Fence] returns. It is greater for each
	// later claim to the same item, or 0 if the owner has no such number.
	Fence uint64
}

// A ReturnReason says why an item runs again.
type ReturnReason uint8

const (
	// ReturnRetry is for an item that failed: see [Claim.Retry]. The owner
	// counts the failure, and the item is ready again after the backoff for
	// that many failures.
	ReturnRetry ReturnReason = iota
	// ReturnRequeue is for an item that did not fail: see [Claim.RequeueAfter].
	// The owner forgets the item's failures, and the item is ready again after
	// [Return].After.
	ReturnRequeue
	// ReturnRelease is for an item that was not processed: see [Claim.Release].
	// The owner leaves the item's failures alone, and the item is ready again
	// at once.
	ReturnRelease
)

// A Return says how an item becomes ready again when its claim ends: see
// [Claim.Return].
type Return struct {
	// Reason says what happens to the item's failures, and how long it is
	// delayed.
	Reason ReturnReason
	// After is the delay of a ReturnRequeue.
	After time.Duration
	// Priority is the claim's priority. [Claim.Return] sets it.
	Priority int
	// Refused, if not nil, discards the item if it cannot become ready again.
	// The owner calls it once, with no lock held, and then ends the claim as
	// DoneClaim does, also if Refused panics. A ReturnRelease is refused only if
	// Refused is set. An Owner may ignore it and return an error.
	Refused func()
}

// ErrClaimEnded is the error of a [Claim] that has ended.
var ErrClaimEnded = errors.New("worker: claim has ended")

// ErrShutDown is the error of a source that is shut down and has nothing ready.
// It is the queue's ErrShutDown.
var ErrShutDown = sentinel.ErrShutDown

// NewClaim returns a claim that owner ends. The owner recognizes it by token.
func NewClaim[T any](item T, priority int, owner Owner[T], token Token) Claim[T] {
	return Claim[T]{item, priority, owner, token}
}

// Reset makes c the claim that [NewClaim] returns. It avoids a copy in a
// [Source] that fills a slice of claims.
func (c *Claim[T]) Reset(item T, priority int, owner Owner[T], token Token) {
	c.Item, c.Priority, c.owner, c.token = item, priority, owner, token
}

// Owner returns the owner, or nil for the zero Claim.
func (c Claim[T]) Owner() Owner[T] { return c.owner }

// Token returns the token by which the owner recognizes the claim.
func (c Claim[T]) Token() Token { return c.token }

// Done ends the claim of an item that succeeded or was discarded. An item that
// was added meanwhile becomes ready again. The limiter forgets the item's
// failures.
func (c Claim[T]) Done() error {
	if c.owner == nil {
		return ErrClaimEnded
	}
	return c.owner.DoneClaim(c.Item, c.token)
}

// Retry ends the claim of an item that failed. The item becomes ready again,
// with the same priority, after the backoff of the limiter. After a shutdown
// has begun, Retry drops the item and returns [ErrShutDown], unless a drain
// accepts retries.
func (c Claim[T]) Retry() error { return c.Return(Return{Reason: ReturnRetry}) }

// RequeueAfter ends the claim of an item that did not fail. The item becomes
// ready again, with the same priority, after d, or at once if d is not
// positive. The limiter forgets the item's failures.
//
// After a shutdown has begun, RequeueAfter behaves as [Claim.Retry] does.
func (c Claim[T]) RequeueAfter(d time.Duration) error {
	return c.Return(Return{Reason: ReturnRequeue, After: d})
}

// Release ends the claim of an item that was not processed. The item is ready
// again at once, with the same priority and failures, last in its shard.
// Release also works after a shutdown has begun.
func (c Claim[T]) Release() error { return c.Return(Return{Reason: ReturnRelease}) }

// Return ends the claim as Retry, RequeueAfter or Release does, by its Reason.
// An unknown Reason panics.
func (c Claim[T]) Return(how Return) error {
	if how.Reason > ReturnRelease {
		panic(fmt.Sprintf("worker: Return.Reason is %d: want ReturnRetry, ReturnRequeue or ReturnRelease", how.Reason))
	}
	if c.owner == nil {
		return ErrClaimEnded
	}
	how.Priority = c.Priority
	return c.owner.ReturnClaim(c.Item, c.token, how)
}

// Valid reports whether the claim has not ended. Another goroutine may end it
// right after.
func (c Claim[T]) Valid() bool { return c.owner != nil && c.owner.ClaimValid(c.token) }

// Failures returns how often the item has failed since its failures were last
// forgotten, according to the limiter. It does not count the present attempt.
func (c Claim[T]) Failures() int {
	if c.owner == nil {
		return 0
	}
	return c.owner.ClaimFailures(c.Item)
}

// Fence returns a number that is greater for each later claim to the same item:
// a fencing token. A sink that remembers the greatest number it has seen for an
// item can refuse the writes of a worker whose claim has ended.
//
// A queue's numbers start at the real time at which it was made, in nanoseconds
// since 1970. So they grow across restarts, unless the clock is set back. They
// exceed 2⁵³, beyond which JavaScript cannot count by ones.
func (c Claim[T]) Fence() uint64 { return c.token.Fence }
