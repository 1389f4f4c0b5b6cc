package harness

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
)

// AddWith, and what a producer knows of a wait that policies and bounds have a say in
// (C38): while the key waits for sure, each AddWith of its only producer moves the end of
// its wait to where the policy says, or to the earliest bound.

// addWith is AddWith, with the books kept. It reports false if it came to nothing.
func (a *actor) addWith(key int, o shardq.AddOptions) (ok bool) {
	op := opAddWith
	if atOnce(o) {
		op = opAdd
	}
	if !a.affordable(op, key) {
		return false
	}
	a.sign()
	e := event{operation: op, key: int32(key), delay: shortest(o), stepped: a.timeless(), way: wayOf(o)}
	var number uint64
	if a.ledger != nil {
		number = a.ledger.want(key)
		if due := a.ledger.keys[key].due.Load(); classOf(key) == delayed && due < math.MaxInt64 {
			e.clock = due
		}
	}
	if o.RateLimited {
		a.asked.limited++
	}
	e.call = now()
	panicked := attempt(func() { a.queue.addWith(key, o) })
	e.end = now()
	e.unsure = panicked != calm || a.queue.ShuttingDown()
	if panicked == calm {
		a.asked.countWith(op, o)
	}
	a.settleAdd(&e, number)
	return panicked == calm
}

// atOnce reports whether an AddWith is an Add, but for a delay that it may cancel.
func atOnce(o shardq.AddOptions) bool {
	return o.After <= 0 && !o.RateLimited && (o.Policy == shardq.KeepEarliest || o.Policy == shardq.KeepNew)
}

// shortest is the shortest delay that an AddWith can come to.
func shortest(o shardq.AddOptions) time.Duration {
	if o.MaxWait > 0 {
		return max(0, min(o.After, o.MaxWait))
	}
	return max(0, o.After)
}

func wayOf(o shardq.AddOptions) string {
	return fmt.Sprintf(" by AddWith, after %v, policy %d, at most %v, rate limited %t", o.After, o.Policy, o.MaxWait, o.RateLimited)
}

// countWith counts an AddWith.
func (a *asked) countWith(op operation, o shardq.AddOptions) {
	switch {
	case op == opAdd:
		a.immediate++
	case o.After > 0 || o.RateLimited:
		a.deferred++
	default:
		a.perhaps++
	}
}

// anyOptions are for a key of which nobody knows how long it waits.
func (a *actor) anyOptions() shardq.AddOptions {
	o := a.someOptions(0)
	if a.chance(4) {
		o.After = -time.Duration(a.roll(2))
	}
	return o
}

// someOptions have a delay of at least so much. A delay of an hour is bounded.
func (a *actor) someOptions(least time.Duration) shardq.AddOptions {
	some := func() time.Duration { return least + 1 + time.Duration(a.roll(int(longestDelay-least))) }
	o := shardq.AddOptions{After: some(), Policy: shardq.DelayPolicy(a.roll(4))}
	if a.chance(2) {
		o.MaxWait = some()
		if a.chance(4) {
			o.After = time.Hour
		}
	}
	if a.has(Priorities) {
		o.Priority = a.anyPriority()
	}
	o.RateLimited = a.has(RateLimited) && a.features.CallersLimiter && a.chance(4)
	return o
}

// timeless reports whether the deadlines of a round mean nothing by the real clock.
func (r *round) timeless() bool {
	return r.fake != nil || r.plan.Ending == DrainContext && r.plan.Waiting == shardq.RunWaiting
}

// A wait is what is known of where the wait of a key ends, from below.
type wait struct{ ends, limit int64 }

// given is the wait that an AddWith asks for at some time, of an item that does not wait.
func given(o shardq.AddOptions, at int64) wait {
	w := wait{at + int64(o.After), math.MaxInt64}
	if o.MaxWait > 0 {
		w.limit = at + int64(o.MaxWait)
	}
	w.ends = min(w.ends, w.limit)
	return w
}

// moved is what the wait comes to when another one is asked for.
func (w wait) moved(p shardq.DelayPolicy, to wait) wait {
	limit := min(w.limit, to.limit)
	switch p {
	case shardq.KeepLatest:
		return wait{min(max(w.ends, to.ends), limit), limit}
	case shardq.KeepNew:
		return wait{min(to.ends, limit), limit}
	case shardq.KeepOld:
		return wait{min(w.ends, limit), limit}
	default:
		return wait{min(w.ends, to.ends, limit), limit}
	}
}

// addPolicied adds a delayed key, if it is unused, with several AddWiths. Once the wait
// may have ended it is not known how often the key will come.
func (p *producer) addPolicied(key int) {
	r := &p.ledger.keys[key]
	if !r.claim() {
		return
	}
	r.due.Store(math.MaxInt64)
	r.policied.Store(true)
	w := wait{math.MaxInt64, math.MaxInt64}
	for n, known := 0, true; n == 0 || p.ledger.time() < w.ends && p.chance(2); n++ {
		if w, known = p.move(key, n, w); !known {
			return
		}
	}
	if !p.withdraw(key) {
		r.comesOnce()
	}
}

// move is the n-th AddWith of a claimed key, and returns what its wait is then, or false
// if that is not known. Meanwhile the key may come by the earliest of the deadlines.
func (p *producer) move(key, n int, before wait) (after wait, known bool) {
	r := &p.ledger.keys[key]
	o, at := p.someOptions(longestDelay/10), p.ledger.time()
	r.due.Store(min(before.ends, given(o, at).ends))
	r.limited.Store(0)
	if !p.addWith(key, o) {
		r.due.Store(before.ends)
		return before, n > 0
	}
	o.After = max(o.After, time.Duration(r.limited.Load()))
	after = given(o, at)
	if n > 0 {
		if p.queue.ShuttingDown() || p.ledger.time() >= before.ends {
			return before, false
		}
		after = before.moved(o.Policy, after)
	}
	r.due.Store(after.ends)
	return after, true
}

// delaysOfWorkers come to an end before the queue is brought to rest: what is added with
// a delay later might be dropped by the shutdown.
type delaysOfWorkers struct {
	ended    atomic.Bool
	underWay atomic.Int32
}

// unlessEnded adds with a delay, if that is still allowed.
func (d *delaysOfWorkers) unlessEnded(add func()) {
	d.underWay.Add(1)
	defer d.underWay.Add(-1)
	if !d.ended.Load() {
		add()
	}
}

// end returns when the last one has been added.
func (d *delaysOfWorkers) end() {
	for d.ended.Store(true); d.underWay.Load() > 0; {
		breathe()
	}
}
