package harness

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// Faults of claims. Those that occur only sometimes pass the checks of a new
// queue, and are for the checks under load.
const (
	lateDoneEndsOthers fault = iota + 4000
	lateDoneEndsOthersAtTimes
	lateReleaseEndsOthersAtTimes
	lateReleaseAdds
	lateRetryCountsFailure
	lateDoneForgets
	lateEndSucceeds
	lateEndSucceedsAtTimes
	checksBeforeItEnds
	fenceStandsStill
	fenceShrinksAtTimes
	validForEver
	validForEverAtTimes
	endsByItself
	claimBatchKeepsOne
	doneClaimsKeepsOne
	doneClaimsSaysNothing
	releaseLosesItem
	releaseLosesPriority
	releaseCountsFailure
	releaseIsRefused
	retryCountsNoFailure
	retrySaysNothing
	requeuesEarly
	requeuesDelayedAtOnce
	keepsMemoryOfClaims
)

// rightsOf returns the claims of the queue with the fault.
func (q *sabotaged) rightsOf(c worker.Claim[int]) rights {
	if q.fault == keepsMemoryOfClaims {
		q.mu.Lock()
		q.held = append(q.held, make([]int, 64)...)
		q.mu.Unlock()
	}
	return sabotagedClaim{c, q}
}

type sabotagedClaim struct {
	worker.Claim[int]
	queue *sabotaged
}

// The checks of a new queue have fewer late calls of one kind than lateAtTimes
// skips, and fewer calls of Valid than askedAtTimes skips.
func (q *sabotaged) lateAtTimes() bool  { return q.every(8) }
func (q *sabotaged) askedAtTimes() bool { return q.every(500) }

// late changes the result and the effect of a late call.
func (c sabotagedClaim) late(err error) error {
	q := c.queue
	if err == worker.ErrClaimEnded && (q.fault == lateEndSucceeds || q.fault == lateEndSucceedsAtTimes && q.askedAtTimes()) {
		return nil
	}
	return err
}

func (c sabotagedClaim) Done() error {
	q := c.queue
	if q.fault == checksBeforeItEnds {
		return c.checkAndEnd()
	}
	err := c.Claim.Done()
	if err == worker.ErrClaimEnded {
		switch {
		case q.fault == lateDoneEndsOthers, q.fault == lateDoneEndsOthersAtTimes && q.lateAtTimes():
			q.Queue.Done(c.Item)
		case q.fault == lateDoneForgets && q.lateAtTimes():
			q.limiter.Forget(c.Item)
		}
	}
	return c.late(err)
}

// checkAndEnd is not atomic: another goroutine may end the claim between the
// check and the end.
func (c sabotagedClaim) checkAndEnd() error {
	if !c.Claim.Valid() {
		return worker.ErrClaimEnded
	}
	runtime.Gosched()
	c.queue.Queue.Forget(c.Item)
	c.queue.Queue.Done(c.Item)
	return nil
}

func (c sabotagedClaim) Retry() error {
	q := c.queue
	if q.fault == retryCountsNoFailure {
		return c.late(c.Claim.RequeueAfter(firstLimit))
	}
	err := c.Claim.Retry()
	switch {
	case q.fault == lateRetryCountsFailure && err == worker.ErrClaimEnded && q.lateAtTimes():
		q.limiter.When(c.Item)
	case q.fault == retrySaysNothing && err == shardq.ErrShutDown:
		return nil
	}
	return c.late(err)
}

func (c sabotagedClaim) RequeueAfter(d time.Duration) error {
	switch {
	case c.queue.fault == requeuesEarly:
		d /= 4
	case c.queue.fault == requeuesDelayedAtOnce && classOf(c.Item) == delayed: // none on a new queue is
		d = min(d, 1)
	}
	return c.late(c.Claim.RequeueAfter(d))
}

func (c sabotagedClaim) Release() error {
	q := c.queue
	switch {
	case q.fault == releaseLosesItem && q.every(50):
		return c.late(c.Claim.Done())
	case q.fault == releaseLosesPriority:
		c.Priority = 0
	case q.fault == releaseIsRefused && q.ShuttingDown() && c.Claim.Done() == nil:
		return shardq.ErrShutDown
	}
	err := c.Claim.Release()
	switch {
	case err == nil && q.fault == releaseCountsFailure:
		q.limiter.When(c.Item)
	case err == worker.ErrClaimEnded && q.fault == lateReleaseAdds && q.lateAtTimes():
		q.Queue.Add(c.Item)
	case err == worker.ErrClaimEnded && q.fault == lateReleaseEndsOthersAtTimes && q.lateAtTimes():
		q.Queue.Done(c.Item)
		q.Queue.Add(c.Item)
	}
	return c.late(err)
}

func (c sabotagedClaim) Valid() bool {
	q := c.queue
	switch {
	case q.fault == validForEver, q.fault == validForEverAtTimes && q.askedAtTimes():
		return true
	case q.fault == endsByItself && q.askedAtTimes():
		return false
	}
	return c.Claim.Valid()
}

func (c sabotagedClaim) Fence() uint64 {
	switch q := c.queue; {
	case q.fault == fenceStandsStill:
		return 1
	case q.fault == fenceShrinksAtTimes && q.askedAtTimes():
		return c.Claim.Fence() / 2
	}
	return c.Claim.Fence()
}

func (q *sabotaged) ClaimBatch(ctx context.Context, dst []worker.Claim[int]) (int, error) {
	n, err := q.Queue.ClaimBatch(ctx, dst)
	if q.fault == claimBatchKeepsOne && n > 1 {
		n--
	}
	return n, err
}

func (q *sabotaged) DoneClaims(claims []worker.Claim[int]) error {
	switch {
	case q.fault == doneClaimsKeepsOne && len(claims) > 1 && q.every(20):
		return q.Queue.DoneClaims(claims[1:])
	case q.fault == doneClaimsSaysNothing:
		_ = q.Queue.DoneClaims(claims)
		return nil
	}
	return q.Queue.DoneClaims(claims)
}

func TestC60EveryFaultOfClaimsIsFound(t *testing.T) {
	for _, test := range []struct {
		name    string
		fault   fault
		mix     Ingredients
		ending  Ending
		clauses []string // any of these
	}{
		{"a late Done ends another's turn", lateDoneEndsOthers, 0, Drain, []string{"C60"}},
		{"a late Done ends another's turn at times", lateDoneEndsOthersAtTimes, 0, Drain, []string{"C60"}},
		{"a late Release ends another's turn at times", lateReleaseEndsOthersAtTimes, 0, Drain, []string{"C60"}},
		{"a late Release adds", lateReleaseAdds, 0, Drain, []string{"Stats"}},
		{"a late Retry counts a failure", lateRetryCountsFailure, 0, Drain, []string{"C28"}},
		{"a late Done forgets failures", lateDoneForgets, 0, Drain, []string{"C28"}},
		{"a late end succeeds", lateEndSucceeds, 0, Drain, []string{"C60"}},
		{"a late end succeeds at times", lateEndSucceedsAtTimes, 0, Drain, []string{"C60"}},
		{"two ends at one moment succeed", checksBeforeItEnds, 0, Drain, []string{"C60"}},
		{"the fence does not grow", fenceStandsStill, 0, Drain, []string{"C60"}},
		{"the fence shrinks at times", fenceShrinksAtTimes, 0, Drain, []string{"C60"}},
		{"a claim is valid after its end", validForEver, 0, Drain, []string{"C60"}},
		{"a claim is valid after its end at times", validForEverAtTimes, 0, Drain, []string{"C60"}},
		{"a claim is not valid before its end", endsByItself, 0, Drain, []string{"C60"}},
		{"ClaimBatch keeps an item", claimBatchKeepsOne, 0, Drain, []string{"C60"}},
		{"DoneClaims leaves an item", doneClaimsKeepsOne, 0, Drain, []string{"C60"}},
		{"DoneClaims does not say what had ended", doneClaimsSaysNothing, 0, Drain, []string{"C60"}},
		{"a Release loses the item", releaseLosesItem, 0, Drain, []string{"C2", "C60"}},
		{"a Release loses the priority", releaseLosesPriority, Priorities, Drain, []string{"C60"}},
		{"a Release counts a failure", releaseCountsFailure, 0, Drain, []string{"C28"}},
		{"a Release is refused after a shutdown", releaseIsRefused, 0, Storm, []string{"C60"}},
		{"a Retry counts no failure", retryCountsNoFailure, 0, Drain, []string{"C28"}},
		{"a Retry after a shutdown returns no error", retrySaysNothing, 0, Storm, []string{"C60"}},
		{"RequeueAfter is early", requeuesEarly, 0, Drain, []string{"C60"}},
		{"RequeueAfter is early under load", requeuesDelayedAtOnce, Delays | Steps, Drain, []string{"C19"}},
		{"memory stays beside claims that have ended", keepsMemoryOfClaims, 0, Rest, []string{"C8"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			requireClauses(t, test.fault, Claims|test.mix, test.ending, test.clauses)
		})
	}
}

// TestC60EndsAreJudged checks which results of a call that ends a claim are
// right.
func TestC60EndsAreJudged(t *testing.T) {
	other := errors.New("another")
	for _, test := range []struct {
		name   string
		end    end
		closed bool // a shutdown had begun
		right  bool
	}{
		{"Done", end{by: byDone}, false, true},
		{"Done after a shutdown", end{by: byDone}, true, true},
		{"Release after a shutdown", end{by: byRelease}, true, true},
		{"Retry", end{by: byRetry}, false, true},
		{"the limiter panics", end{by: byRetry, panicked: limiterPanics}, false, true},
		{"Retry after a shutdown", end{by: byRetry, err: shardq.ErrShutDown}, true, true},
		{"RequeueAfter after a shutdown", end{by: byRequeue, err: shardq.ErrShutDown}, true, true},
		{"Retry after a shutdown that says nothing", end{by: byRetry}, true, false},
		{"Retry without a shutdown", end{by: byRetry, err: shardq.ErrShutDown}, false, false},
		{"Release is refused", end{by: byRelease, err: shardq.ErrShutDown}, true, false},
		{"Done is refused", end{by: byDone, err: shardq.ErrShutDown}, true, false},
		{"Release calls the limiter", end{by: byRelease, panicked: limiterPanics}, false, false},
		{"Done calls the hash function", end{by: byDone, panicked: hashPanics}, false, false},
		{"another error", end{by: byDone, err: other}, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			plan := Draw(1, Limits{Adds: 100, Mix: Claims, Ending: Drain}, Shardq().Features)
			plan.Mix = Claims
			r := newRound(plan, Shardq(), nil)
			if test.closed {
				r.queue.ShutDown()
			}
			c := consumer{actor: r.newActor()}
			c.checkAnswer(&claim{key: 4}, &test.end, test.closed)
			require.Equal(t, test.right, len(r.violated.all()) == 0, "%v", r.violated.all())
		})
	}
}

// TestC60HistoriesOfClaims checks that the end of a claim proves that a worker
// had the key.
func TestC60HistoriesOfClaims(t *testing.T) {
	for _, test := range []struct {
		name    string
		history []event
		legal   bool
	}{
		{"an end", calls(opAdd, opGet, opEnd, opRest), true},
		{"an end of what is dirty", calls(opAdd, opGet, opAdd, opEnd, opGet, opEnd, opRest), true},
		{"two ends", calls(opAdd, opGet, opEnd, opEnd), false},
		{"an end while the key is ready", calls(opAdd, opEnd), false},
		{"a release", calls(opAdd, opGet, opRelease, opGet, opEnd, opRest), true},
		{"a release of what is dirty", calls(opAdd, opGet, opAdd, opRelease, opGet, opEnd, opRest), true},
		{"a release that loses the key", calls(opAdd, opGet, opRelease, opRest), false},
		{"a release after which the key runs twice", calls(opAdd, opGet, opRelease, opGet, opGet), false},
		{"a release while no worker has the key", calls(opAdd, opRelease), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := porcupine.Illegal
			if test.legal {
				want = porcupine.Ok
			}
			require.Equal(t, want, check(fromIdle, test.history))
		})
	}
	require.Equal(t, "C60", clauseOf(event{operation: opEnd}))
	require.Equal(t, "C60", clauseOf(event{operation: opRelease}))
}
