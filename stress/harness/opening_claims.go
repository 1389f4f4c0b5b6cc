package harness

import (
	"context"
	"time"

	"github.com/shardq/shardq/worker"
)

// claims checks on a new queue that each way to end a claim works, once.
func (o opening) claims() {
	if _, ok := o.queue.tryClaim(); ok {
		o.violated.report("C60", -1, "TryClaim took an item from an empty queue")
		return
	}
	for by := range waysToEnd {
		if o.violated.stopped.Load() {
			return
		}
		o.endInEveryWay(by)
	}
	o.claimsTogether()
}

// endInEveryWay ends a claim in one way, and then in every way while another
// claim holds the item.
func (o opening) endInEveryWay(by endBy) {
	o.add(opAdd, o.first, 0)
	first, second := o.claimOne(), (*claim)(nil)
	if first == nil {
		return
	}
	e := end{by: by, delay: longestDelay / 2}
	if by == byRequeue {
		e.delay = 0
	}
	began := time.Now()
	if e.try(o.queue, first); e.err != nil {
		o.violated.report("C60", -1, "%v of a new claim returned %v", by, e.err)
		return
	}
	o.dones++
	o.asked.ended(&e, o.plan.countsFailures())
	if second = o.claimAgain(&e); second == nil {
		return
	}
	if early := e.delay - time.Since(began); o.fake == nil && by == byRequeueAfter && early > 0 {
		o.violated.report("C60", -1, "an item was handed out at least %v before its RequeueAfter of %v expired", early, e.delay)
	}
	for late := range waysToEnd {
		again := end{by: late, delay: e.delay}
		again.try(o.queue, first)
		if again.err != worker.ErrClaimEnded || first.Valid() || !second.Valid() {
			o.violated.report("C60", -1, "after %v, while another claim holds the item, %v returned %v", by, late, again.err)
		}
		o.stand("C60", "a call that is too late", 0, 0, 1)
	}
	if first.Fence() >= second.Fence() {
		o.violated.report("C60", -1, "an item was handed out with the fence %d, and then with %d", first.Fence(), second.Fence())
	}
	if first.priority != second.priority {
		o.violated.report("C60", -1, "after %v, an item of priority %d has %d", by, first.priority, second.priority)
	}
	failures := 0
	if by == byRetry {
		failures = 1
	}
	o.requeued(failures)
	o.doneClaim(second)
	o.requeued(0)
	o.stand("C60", "the end of all claims", 0, 0, 0)
}

// claimAgain returns the claim of an item that a call has returned to the
// queue, or that is added again.
func (o opening) claimAgain(e *end) *claim {
	switch {
	case !e.by.runsAgain():
		o.stand("C60", e.by.String(), 0, 0, 0)
		o.add(opAdd, o.first, 0)
	case !e.by.delays():
		o.stand("C60", e.by.String(), 1, 0, 0)
	case o.fake == nil:
	case e.by == byRetry:
		o.pass(firstLimit)
	default:
		o.pass(e.delay)
	}
	return o.claimOne()
}

// claimOne takes a claim. It reports a violation after a while.
func (o opening) claimOne() *claim {
	o.sign()
	ctx, cancel := context.WithTimeout(o.context, grace)
	defer cancel()
	held, err := o.queue.claim(ctx)
	if err != nil {
		o.violated.report("C60", -1, "Claim returned %v, and an item must be ready within %v", err, grace)
		return nil
	}
	o.gets++
	if !held.Valid() {
		o.violated.report("C60", -1, "a new claim has ended")
	}
	o.stand("C60", "a Claim", 0, 0, 1)
	return held
}

func (o opening) doneClaim(held *claim) {
	o.dones++
	e := end{by: byDone}
	if e.try(o.queue, held); e.err != nil || held.Valid() {
		o.violated.report("C60", -1, "Done of a claim returned %v", e.err)
	}
	o.asked.ended(&e, o.plan.countsFailures())
}

// claimsTogether checks that ClaimBatch takes the ready items, and that
// DoneClaims ends the claims that have not ended.
func (o opening) claimsTogether() {
	n := 2 + o.roll(200)
	for i := range n {
		o.add(opAdd, o.first+i, 0)
	}
	ctx, cancel := context.WithTimeout(o.context, grace)
	defer cancel()
	claims, err := o.queue.claimBatch(ctx, n+1)
	o.gets += uint64(len(claims))
	if err != nil || len(claims) != n {
		o.violated.report("C60", -1, "with %d items ready, ClaimBatch returned %d and the error %v", n, len(claims), err)
		return
	}
	o.doneClaim(claims[n/2])
	if err := o.queue.doneClaims(claims); err != worker.ErrClaimEnded {
		o.violated.report("C60", -1, "DoneClaims with one ended claim returned %v", err)
	}
	for range n - 1 {
		o.dones++
		o.asked.ended(&end{by: byDoneClaims}, o.plan.countsFailures())
	}
	o.stand("C60", "DoneClaims", 0, 0, 0)
	if o.plan.Shards == 1 && !o.has(Groups) {
		o.released()
	}
}

// released checks that a released item is the last in its shard.
func (o opening) released() {
	o.add(opAdd, o.first, 0)
	o.add(opAdd, o.first+1, 0)
	held, ok := o.queue.tryClaim()
	if !ok {
		o.violated.report("C60", -1, "with 2 items ready, TryClaim finds none")
		return
	}
	o.gets++
	e := end{by: byRelease}
	e.try(o.queue, held)
	o.dones++
	o.asked.ended(&e, false)
	for _, want := range []int{o.first + 1, o.first} {
		key := o.take()
		if key != want {
			o.violated.report("C60", -1, "an item that was released is not the last in its shard")
		}
		o.end(key)
	}
}
