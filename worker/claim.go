package worker

import (
	"errors"
	"fmt"
	"time"

	"github.com/shardq/shardq/internal/sentinel"
)

// A Claim is the right to one processing of an item. Exactly one call ends it:
// Done, Retry, RequeueAfter, Release or Return, of the Claim or of a copy.
// Every later call returns [ErrClaimEnded] and changes nothing. If the queue's
// Cancel was called for the item, no call makes it ready. The methods do not
// block and are safe for concurrent use. The zero Claim has ended.
type Claim[T any] struct {
	Item     T   // Do not change it.
	Priority int // with which the item was ready, and will be again

	owner Owner[T]
	token Token
}

// An Owner ends the claims that it made by [NewClaim]. All methods must be safe
// for concurrent use. Of all calls of DoneClaim and ReturnClaim for one token,
// the first ends the claim. The others return [ErrClaimEnded]. An owner may also
// have a Name() string, and the methods of a [Reporter], an [AttemptReporter], a
// [Describer], a [FailureTimer] and a [Watcher].
type Owner[T any] interface {
	// DoneClaim ends the claim and forgets the item's failures.
	DoneClaim(item T, token Token) error
	// ReturnClaim ends the claim and makes the item ready again as how says.
	// If the item cannot become ready again, the claim ends all the same, and
	// ReturnClaim returns [ErrShutDown] or an error of its own.
	ReturnClaim(item T, token Token, how Return) error
	// ClaimValid reports whether the claim has not ended.
	ClaimValid(token Token) bool
	// ClaimFailures returns how often the item has failed since its failures
	// were last forgotten, or 0 if the owner does not count that.
	ClaimFailures(item T) int
}

// A Token identifies a claim to its [Owner].
type Token struct {
	ID    uint64 // of the owner's choice
	Fence uint64 // for [Claim.Fence], or 0
}

// A ReturnReason says why an item runs again.
type ReturnReason uint8

const (
	ReturnRetry   ReturnReason = iota // as by [Claim.Retry]
	ReturnRequeue                     // as by [Claim.RequeueAfter]
	ReturnRelease                     // as by [Claim.Release]
)

func (r ReturnReason) check() {
	if r > ReturnRelease {
		panic(fmt.Sprintf("worker: Return.Reason is %d: want ReturnRetry, ReturnRequeue or ReturnRelease", r))
	}
}

// A Return says how an item becomes ready again: see [Claim.Return].
type Return struct {
	Reason   ReturnReason
	After    time.Duration // the delay of a ReturnRequeue, the least of a ReturnRetry
	Priority int           // of the claim; [Claim.Return] sets it
	// FirstFailure, if not zero, is the time that a [FailureTimer] keeps with a
	// ReturnRetry.
	FirstFailure time.Time
	// The owner calls Refused, if set, when the item cannot become ready again:
	// once, and with no lock held. It then ends the claim as DoneClaim does,
	// even if Refused panics. A ReturnRelease is refused only if Refused is
	// set. An Owner may ignore Refused and return an error.
	Refused func()
}

// ErrClaimEnded is the error of a [Claim] that has ended.
var ErrClaimEnded = errors.New("worker: claim has ended")

// ErrShutDown is the error of a source that is shut down and has nothing ready.
// It is the queue's ErrShutDown.
var ErrShutDown = sentinel.ErrShutDown

// NewClaim returns a claim that owner ends, and recognizes by token.
func NewClaim[T any](item T, priority int, owner Owner[T], token Token) Claim[T] {
	return Claim[T]{item, priority, owner, token}
}

// Reset makes c the claim that [NewClaim] returns for these arguments, without
// a copy.
func (c *Claim[T]) Reset(item T, priority int, owner Owner[T], token Token) {
	c.Item, c.Priority, c.owner, c.token = item, priority, owner, token
}

// Owner returns the owner, or nil for the zero Claim.
func (c Claim[T]) Owner() Owner[T] { return c.owner }

// Token returns the token by which the owner recognizes the claim.
func (c Claim[T]) Token() Token { return c.token }

// Done ends the claim of an item that succeeded or was discarded. An item that
// was added meanwhile becomes ready again. The item's failures are forgotten.
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
func (c Claim[T]) Retry() error { return giveBack(&c, &Return{Reason: ReturnRetry}) }

// RequeueAfter ends the claim of an item that did not fail. The item becomes
// ready again, with the same priority, after d, or at once if d is not positive.
// Its failures are forgotten. In a shutdown it behaves as [Claim.Retry] does.
func (c Claim[T]) RequeueAfter(d time.Duration) error {
	return giveBack(&c, &Return{Reason: ReturnRequeue, After: d})
}

// Release ends the claim of an item that was not processed. The item is ready
// again at once, with the same priority and failures, also in a shutdown.
func (c Claim[T]) Release() error { return giveBack(&c, &Return{Reason: ReturnRelease}) }

// Return ends the claim as how.Reason says: as Retry, RequeueAfter or Release
// does. An unknown Reason panics.
func (c Claim[T]) Return(how Return) error { return giveBack(&c, &how) }

// giveBack gets pointers, because each method of a Claim is compiled four times.
func giveBack[T any](c *Claim[T], how *Return) error {
	how.Reason.check()
	if c.owner == nil {
		return ErrClaimEnded
	}
	how.Priority = c.Priority
	return c.owner.ReturnClaim(c.Item, c.token, *how)
}

// Valid reports whether the claim has not ended.
func (c Claim[T]) Valid() bool { return isValid(c.owner, c.token) }

func isValid(owner any, token Token) bool {
	validator, is := owner.(interface{ ClaimValid(Token) bool })
	return is && validator.ClaimValid(token)
}

// Failures returns how often the item has failed, without the present attempt.
func (c Claim[T]) Failures() int {
	if c.owner == nil {
		return 0
	}
	return c.owner.ClaimFailures(c.Item)
}

// Fence returns a fencing token: a number that is greater for each later claim
// to the same item. A queue's numbers start at the real time at which it was
// made, in nanoseconds, so they grow across restarts.
func (c Claim[T]) Fence() uint64 { return c.token.Fence }
