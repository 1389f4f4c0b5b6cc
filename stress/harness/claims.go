package harness

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// Claims (C60). Consumers take keys by Claim, TryClaim and ClaimBatch, and end
// the claims in every way. A claim that has ended goes to a pool. Actors end
// the claims in the pool again, in every way, also while a worker has the key.
// Sometimes two goroutines end one claim at the same moment. A late call must
// return ErrClaimEnded and change nothing: not the turn of the worker that has
// the key, and not the counts at the end of the round.

// rights has the methods of a [worker.Claim].
type rights interface {
	Done() error
	Retry() error
	RequeueAfter(time.Duration) error
	Release() error
	Valid() bool
	Fence() uint64
}

// A claim is a [worker.Claim] of a key.
type claim struct {
	rights
	key, priority int
	own           any // the worker.Claim
}

// An endBy is a call that ends a claim.
type endBy uint8

const (
	byDone endBy = iota
	byDoneClaims
	byRelease
	byRequeue // at once
	byRequeueAfter
	byRetry
	waysToEnd
)

func (e endBy) String() string {
	return [...]string{"Done", "DoneClaims", "Release", "RequeueAfter(0)", "RequeueAfter", "Retry"}[e]
}

// runsAgain reports whether the item runs again.
func (e endBy) runsAgain() bool { return e > byDoneClaims }

// delays reports whether the item runs again after a delay.
func (e endBy) delays() bool { return e >= byRequeueAfter }

// operation returns the operation in a history for the add that is part of the
// end.
func (e endBy) operation() operation {
	switch e {
	case byRetry:
		return opAddRateLimited
	case byRequeueAfter:
		return opAddAfter
	default:
		return opAdd
	}
}

// An end is a call that ends a claim, with its delay and its result.
type end struct {
	by       endBy
	delay    time.Duration // of byRequeueAfter
	number   uint64        // of the add in the ledger
	err      error
	panicked panicValue
}

// try makes the call.
func (e *end) try(q queue, c *claim) {
	e.panicked = attempt(func() { e.err = e.call(q, c) })
}

func (e *end) call(q queue, c *claim) error {
	switch e.by {
	case byDone:
		return c.Done()
	case byDoneClaims:
		return q.doneClaims([]*claim{c})
	case byRelease:
		return c.Release()
	case byRetry:
		return c.Retry()
	default:
		return c.RequeueAfter(e.delay)
	}
}

// won reports whether the call has ended the claim. If the limiter panics, no
// other call can end the claim any more.
func (e *end) won() bool { return e.panicked != noPanic || e.err != worker.ErrClaimEnded }

// dropped reports whether the item should run again, but was dropped.
func (e *end) dropped() bool { return e.panicked == noPanic && e.err == shardq.ErrShutDown }

// releases reports whether the item is ready at once, also after a panic of the
// limiter.
func (e *end) releases() bool {
	return e.by.runsAgain() && !e.dropped() && (e.panicked != noPanic || !e.by.delays())
}

// staleClaims is a pool of claims that have ended. It keeps a few for each
// remainder of the keys.
type staleClaims struct {
	places [staleRemainders][staleOfEach]atomic.Pointer[claim]
}

const (
	staleRemainders = 64
	staleOfEach     = 4
)

func (s *staleClaims) place(key int, d *dice) *atomic.Pointer[claim] {
	return &s.places[key%staleRemainders][d.roll(staleOfEach)]
}

// newStaleClaims returns the pool of an actor. Actors share a pool if there is
// a ledger, because its atomics order their operations anyway.
func (r *round) newStaleClaims() *staleClaims {
	switch {
	case !r.plan.Mix.Has(Claims):
		return nil
	case r.ledger == nil || r.stale == nil:
		r.stale = &staleClaims{}
	}
	return r.stale
}

// forgetClaims drops the pools, because a claim refers to its queue.
func (r *round) forgetClaims() {
	r.stale = nil
	for _, a := range r.actors {
		a.stale = nil
	}
}

// countsFailures reports whether the limiter reports the number of items with
// failures. Then the end of a claim may skip Forget.
func (p Plan) countsFailures() bool { return p.Mix.Has(Claims) && p.Seed/2%2 == 0 }

// nextClaims takes one claim or several, and ends them.
func (c *consumer) nextClaims() (open bool) {
	claims, open := c.takeClaims()
	for _, held := range claims {
		c.checkTaken(held)
	}
	c.processClaims(claims)
	return open
}

func (c *consumer) takeClaims() (claims []*claim, open bool) {
	if c.chance(3) {
		size := 1 + c.roll(c.roll(c.mostInABatch()-1)+1) // and a failing one: see doneTogether
		_, open = c.getSome("C60", "ClaimBatch", size, func(ctx context.Context, keys []int) (n int, err error) {
			claims, err = c.queue.claimBatch(ctx, size)
			return copy(keys, keysOf(claims)), err
		})
		return slices.DeleteFunc(claims, func(held *claim) bool { return c.strange(held.key) }), open
	}
	key, open := c.getBy(func() (key int, ok, canceled bool) {
		held, ok, canceled := c.askForClaim()
		if held == nil {
			return -1, ok, canceled
		}
		claims = []*claim{held}
		return held.key, true, false
	})
	if key < 0 {
		return nil, open
	}
	return claims, open
}

// askForClaim calls TryClaim, or Claim with a context that may end.
func (c *consumer) askForClaim() (held *claim, ok, canceled bool) {
	if c.chance(3) {
		held, _ = c.queue.tryClaim()
		return held, true, held == nil
	}
	ctx, lasts := c.context, c.chance(2)
	if !lasts {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(c.roll(1000))*time.Microsecond)
		defer cancel()
	}
	held, err := c.queue.claim(ctx)
	switch {
	case err == nil:
		return held, true, false
	case err == shardq.ErrShutDown:
		return nil, false, false
	case lasts:
		c.violated.report("C60", -1, "Claim returned %v, and its context has not ended", err)
	}
	return nil, true, true
}

// checkTaken is called for each claim. The fence must exceed that of every
// earlier claim of the key.
func (c *consumer) checkTaken(held *claim) {
	key, fence := held.key, held.Fence()
	c.checkValid(held)
	if stale := c.staleOf(key); stale != nil && stale.Fence() >= fence {
		c.violated.report("C60", key, "key %d was handed out with the fence %d, and before with %d", key, fence, stale.Fence())
	}
	if c.ledger == nil {
		return
	}
	if before := c.ledger.keys[key].fence.Swap(fence); before >= fence {
		c.violated.report("C60", key, "key %d was handed out with the fence %d, and before with %d", key, fence, before)
	}
	if classOf(key) == ordered && held.priority != c.plan.priorityOf(key) {
		c.violated.report("C60", key, "the claim of key %d has priority %d, and the key %d", key, held.priority, c.plan.priorityOf(key))
	}
}

// checkValid is called while the owner of the claim has the key.
func (c *consumer) checkValid(held *claim) {
	if !c.mayHaveEnded(held.key) && !held.Valid() {
		c.violated.report("C60", held.key, "the claim of key %d has ended, and its owner has not ended it", held.key)
	}
}

// mayHaveEnded reports whether a surplus Done may end the claims of a key.
func (a *actor) mayHaveEnded(key int) bool { return a.ledger != nil && a.ledger.misused(key) }

// staleOf returns an ended claim of the key, or nil.
func (a *actor) staleOf(key int) *claim {
	if stale := a.stale.place(key, &a.dice).Load(); stale != nil && stale.key == key {
		return stale
	}
	return nil
}

// endStale ends an ended claim again, usually one of this key.
func (a *actor) endStale(key int) (ofKey bool) {
	stale := a.stale.place(key, &a.dice).Load()
	if stale == nil {
		return false
	}
	a.endAgain(stale)
	return stale.key == key
}

// endBeside calls endStale while this worker has the key.
func (c *consumer) endBeside(key int) {
	if c.endStale(key) {
		c.asked.beside++
	}
}

// endAgain ends an ended claim again.
func (a *actor) endAgain(stale *claim) {
	a.operations++
	a.asked.late++
	e := end{by: endBy(a.roll(int(waysToEnd)))}
	if e.by == byRequeueAfter {
		e.delay = time.Duration(a.roll(int(longestDelay)))
	}
	valid := stale.Valid()
	e.try(a.queue, stale)
	switch {
	case valid || stale.Valid():
		a.violated.report("C60", stale.key, "an ended claim of key %d is valid", stale.key)
	case e.won():
		a.violated.report("C60", stale.key, "%v of an ended claim of key %d returned %v %s", e.by, stale.key, e.err, e.panicked)
	}
}

func (c *consumer) processClaims(claims []*claim) {
	defer c.endClaims(claims) // also if the work panics or exits
	for _, held := range claims {
		c.work(held.key)
		c.checkValid(held)
	}
}

// endClaims ends claims one by one, together, or by the Dones of the queue.
func (c *consumer) endClaims(claims []*claim) {
	switch together := c.chance(2); {
	case len(claims) == 0:
		return
	case c.chance(8):
		c.finishAll(keysOf(claims))
	case together && !slices.ContainsFunc(keysOf(claims), c.mayHaveEnded):
		c.doneTogether(claims)
	default:
		for _, held := range claims {
			c.endClaim(held)
		}
	}
	for _, held := range claims {
		c.hasEnded(held)
	}
}

func keysOf(claims []*claim) (keys []int) {
	for _, held := range claims {
		keys = append(keys, held.key)
	}
	return keys
}

// hasEnded is called when a claim has ended.
func (c *consumer) hasEnded(held *claim) {
	c.asked.claims++
	if held.Valid() {
		c.violated.report("C60", held.key, "the claim of key %d is valid, and it has ended", held.key)
	}
	if c.chance(4) {
		c.endAgain(held)
	}
	c.stale.place(held.key, &c.dice).Store(held)
}

// doneTogether calls DoneClaims, sometimes with an ended claim among the
// others.
func (c *consumer) doneTogether(claims []*claim) {
	all, want := claims, error(nil)
	if stale := c.staleOf(claims[0].key); stale != nil && c.chance(2) {
		all, want = append([]*claim{stale}, claims...), worker.ErrClaimEnded
	} else if c.chance(8) {
		all, want = append(claims[:len(claims):len(claims)], claims[0]), worker.ErrClaimEnded
	}
	for _, held := range claims {
		c.endInLedger(held.key)
	}
	c.sign()
	e, call := end{by: byDoneClaims}, now()
	e.panicked = attempt(func() { e.err = c.queue.doneClaims(all) })
	until := now()
	if e.panicked == noPanic && e.err != want {
		c.violated.report("C60", claims[0].key, "DoneClaims of %d claims returned %v, want %v", len(all), e.err, want)
	}
	for _, held := range claims {
		c.asked.ended(&e, c.plan.countsFailures() || e.panicked != noPanic)
		c.dones++
		c.record(event{operation: opEnd, way: " by DoneClaims", key: int32(held.key), call: call, end: until})
		c.ranInLedger(held.key)
	}
}

// endClaim ends a claim in a way that its key allows. After the workers have
// stopped adding with delays, it uses no delay: see delaysOfWorkers.
func (c *consumer) endClaim(held *claim) {
	ended := false
	c.delays.unlessEnded(func() {
		c.endOnce(held, true)
		ended = true
	})
	if !ended {
		c.endOnce(held, false)
	}
}

// endOnce ends a claim, sometimes by two calls at the same moment.
func (c *consumer) endOnce(held *claim, mayDelay bool) {
	ends := []end{c.anyEnd(held.key, mayDelay)}
	if c.chance(8) {
		ends = append(ends, c.anyEnd(held.key, mayDelay))
	}
	c.prepare(held.key, ends)
	c.endInLedger(held.key)
	c.sign()
	closed, call := c.queue.ShuttingDown(), now()
	c.tryAll(held, ends)
	until := now()
	winner := c.winnerOf(held, ends)
	if winner == nil {
		c.asked.overtaken(ends)
	} else {
		c.checkAnswer(held, winner, closed)
		c.settleEnd(winner, event{key: int32(held.key), call: call, end: until})
	}
	if c.ledger == nil {
		return
	}
	for i := range ends {
		if ends[i].number > 0 {
			c.ledger.keys[held.key].ended.Add(1)
		}
	}
	if winner == nil || !winner.by.runsAgain() || winner.dropped() {
		c.ranInLedger(held.key)
	} else if classOf(held.key) == ordered {
		c.ledger.countHeld(held.key) // left in endInLedger
	}
}

// anyEnd returns a way to end a claim of the key. A key that is not free runs
// again only if its producer has finished with it, and only in a way that the
// ledger can follow: an ordered key at once, a delayed key after a delay.
func (c *consumer) anyEnd(key int, mayDelay bool) end {
	e := end{by: endBy(c.roll(int(waysToEnd)))}
	switch {
	case c.ledger == nil || !c.chance(2):
	case classOf(key) == ordered:
		e.by = byRelease
	case classOf(key) == delayed:
		e.by = byRequeueAfter
	}
	if !mayDelay && e.by.delays() || !c.mayRunAgain(key, e.by) || e.by.runsAgain() && !c.affordable(e.by.operation(), key) {
		e.by %= byRelease // one of the ends after which the item does not run again
	}
	if e.by == byRequeueAfter {
		e.delay = 1 + time.Duration(c.roll(int(longestDelay)-1))
	}
	return e
}

func (c *consumer) mayRunAgain(key int, by endBy) bool {
	if c.ledger == nil || classOf(key) == free {
		return true
	}
	if c.ledger.keys[key].use.Load() != 1 {
		return false
	}
	if classOf(key) == ordered {
		return !by.delays()
	}
	return by == byRequeueAfter && !c.has(Panics) // after a panic it would be ready at once
}

// prepare records the adds that are part of the ends, before the queue sees
// them.
func (c *consumer) prepare(key int, ends []end) {
	if c.ledger == nil {
		return
	}
	r := &c.ledger.keys[key]
	for i := range ends {
		e := &ends[i]
		if !e.by.runsAgain() {
			continue
		}
		e.number = c.ledger.want(key)
		switch classOf(key) {
		case ordered:
			r.landing.Store(0) // the time when it is ready is unknown
			r.began.Store(now())
		case delayed:
			if i == 0 || !ends[0].by.runsAgain() {
				r.due.Store(math.MaxInt64) // it is over
			}
			r.policied.Store(false)
			c.ledger.wantIn(key, e.delay)
		}
	}
}

// tryAll makes one call, or two at the same moment.
func (c *consumer) tryAll(held *claim, ends []end) {
	if len(ends) == 1 {
		ends[0].try(c.queue, held)
		return
	}
	there, over := atomic.Bool{}, make(chan struct{})
	go func() {
		defer close(over)
		there.Store(true)
		ends[1].try(c.queue, held)
	}()
	for !there.Load() {
		runtime.Gosched()
	}
	ends[0].try(c.queue, held)
	<-over
}

// winnerOf returns the call that has ended the claim. There is none if a
// surplus Done ended the claim before.
func (c *consumer) winnerOf(held *claim, ends []end) (winner *end) {
	for i := range ends {
		switch {
		case !ends[i].won():
		case winner != nil:
			c.violated.report("C60", held.key, "%v and %v have both ended one claim of key %d", winner.by, ends[i].by, held.key)
		default:
			winner = &ends[i]
		}
	}
	if winner == nil && !c.mayHaveEnded(held.key) {
		c.violated.report("C60", held.key, "%v of the claim of key %d returned that it has ended, and its owner has not ended it", ends[0].by, held.key)
	}
	return winner
}

// checkAnswer checks the result of the call that has ended a claim. closed
// reports whether a shutdown began before it.
func (c *consumer) checkAnswer(held *claim, e *end, closed bool) {
	refuses := e.by.runsAgain() && e.by != byRelease // once a shutdown has begun
	switch {
	case e.panicked == limiterPanics && e.by != byRelease:
	case e.panicked != noPanic:
		c.violated.report("C60", held.key, "in %v of a claim of key %d, %s", e.by, held.key, e.panicked)
	case e.err == nil && closed && refuses:
		c.violated.report("C60", held.key, "after a shutdown began, %v of a claim of key %d returned nil", e.by, held.key)
	case e.err == nil, e.err == shardq.ErrShutDown && refuses && c.queue.ShuttingDown():
	default:
		c.violated.report("C60", held.key, "%v of the claim of key %d returned %v", e.by, held.key, e.err)
	}
}

// settleEnd records the result of the call that has ended a claim.
func (c *consumer) settleEnd(e *end, at event) {
	c.dones++
	c.asked.ended(e, c.plan.countsFailures())
	at.operation, at.way = opEnd, " by "+e.by.String()
	switch {
	case e.releases():
		at.operation = opRelease
	case e.by.delays() && !e.dropped():
		add := at
		add.operation, add.delay, add.stepped = e.by.operation(), e.delay, c.timeless()
		c.record(add)
	}
	c.record(at)
	if c.ledger == nil || !e.by.runsAgain() || e.dropped() {
		return
	}
	if e.releases() || !c.plan.dropsDelayed() && !c.queue.ShuttingDown() {
		c.ledger.land(int(at.key), e.number)
	}
}

// overtaken counts the calls that could not end a claim because a surplus Done
// did. If it did so during a call, the limiter was called before.
func (a *asked) overtaken(ends []end) {
	for i := range ends {
		switch ends[i].by {
		case byRetry:
			a.perhapsLimited++
		case byRequeue, byRequeueAfter:
			a.perhapsForgets++
		}
	}
}

// ended counts the call that has ended a claim. For some ends it is unknown
// whether they call Forget of the limiter.
func (a *asked) ended(e *end, perhapsForgets bool) {
	switch {
	case e.by == byRelease:
	case e.by == byRetry && e.dropped():
		a.perhapsLimited++
	case e.by == byRetry:
		a.limited++
	case e.dropped(), perhapsForgets && !e.by.runsAgain():
		a.perhapsForgets++
	default:
		a.forgets++
	}
	switch {
	case e.releases():
		a.immediate++
		a.sure++
	case e.by == byRequeue:
		a.immediate++
	case e.by.runsAgain():
		a.deferred++
	}
}
