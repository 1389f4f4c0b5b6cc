package harness

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
)

// AddWith, and what a producer knows about a delay with policies and bounds
// (C38): while the key is surely delayed, each AddWith of its only producer
// moves the deadline as the policy says, or to the earliest bound.

// addWith calls AddWith, and records the call. It reports false if it had no
// effect.
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
	e.unsure = panicked != noPanic || a.queue.ShuttingDown()
	if panicked == noPanic {
		a.asked.countWith(op, o)
	}
	a.settleAdd(&e, number)
	return panicked == noPanic
}

// atOnce reports whether an AddWith is an Add, except that it may cancel a
// delay.
func atOnce(o shardq.AddOptions) bool {
	return o.After <= 0 && !o.RateLimited && (o.Policy == shardq.KeepEarliest || o.Policy == shardq.KeepNew)
}

// shortest returns the shortest possible delay of an AddWith.
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

// anyOptions returns options for a key whose delay the ledger does not follow.
func (a *actor) anyOptions() shardq.AddOptions {
	o := a.someOptions(0)
	if a.chance(4) {
		o.After = -time.Duration(a.roll(2))
	}
	return o
}

// someOptions returns options with a minimum delay. A delay of an hour is
// bounded.
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

// timeless reports whether the deadlines of a round have no meaning by the real
// clock.
func (r *round) timeless() bool {
	return r.fake != nil || r.plan.Ending == DrainContext && r.plan.Delayed == shardq.RunDelayed
}

// A bound is a lower bound of a key's deadline.
type bound struct{ deadline, limit int64 }

// given returns the bound of an AddWith at some time, for an item that is not
// delayed.
func given(o shardq.AddOptions, at int64) bound {
	b := bound{at + int64(o.After), math.MaxInt64}
	if o.MaxWait > 0 {
		b.limit = at + int64(o.MaxWait)
	}
	b.deadline = min(b.deadline, b.limit)
	return b
}

// moved returns the bound after another AddWith.
func (b bound) moved(p shardq.DelayPolicy, to bound) bound {
	limit := min(b.limit, to.limit)
	switch p {
	case shardq.KeepLatest:
		return bound{min(max(b.deadline, to.deadline), limit), limit}
	case shardq.KeepNew:
		return bound{min(to.deadline, limit), limit}
	case shardq.KeepOld:
		return bound{min(b.deadline, limit), limit}
	default:
		return bound{min(b.deadline, to.deadline, limit), limit}
	}
}

// addPolicied adds a delayed key, if it is unused, with several AddWiths. Once
// the delay may have expired, the number of runs is unknown.
func (p *producer) addPolicied(key int) {
	r := &p.ledger.keys[key]
	if !r.claim() {
		return
	}
	r.due.Store(math.MaxInt64)
	r.policied.Store(true)
	w := bound{math.MaxInt64, math.MaxInt64}
	for n, known := 0, true; n == 0 || p.ledger.time() < w.deadline && p.chance(2); n++ {
		if w, known = p.move(key, n, w); !known {
			return
		}
	}
	if !p.withdraw(key) {
		r.runsOnce()
	}
}

// move makes the n-th AddWith of a claimed key, and returns its bound, or false
// if that is unknown. Meanwhile the key may be handed out at the earliest of
// the deadlines.
func (p *producer) move(key, n int, before bound) (after bound, known bool) {
	r := &p.ledger.keys[key]
	o, at := p.someOptions(longestDelay/10), p.ledger.time()
	r.due.Store(min(before.deadline, given(o, at).deadline))
	r.limited.Store(0)
	if !p.addWith(key, o) {
		r.due.Store(before.deadline)
		return before, n > 0
	}
	o.After = max(o.After, time.Duration(r.limited.Load()))
	after = given(o, at)
	if n > 0 {
		if p.queue.ShuttingDown() || p.ledger.time() >= before.deadline {
			return before, false
		}
		after = before.moved(o.Policy, after)
	}
	r.due.Store(after.deadline)
	return after, true
}

// delaysOfWorkers stop before the queue is brought to rest. The shutdown might
// drop a later delayed add.
type delaysOfWorkers struct {
	ended   atomic.Bool
	running atomic.Int32
}

// unlessEnded adds with a delay, if that is still allowed.
func (d *delaysOfWorkers) unlessEnded(add func()) {
	d.running.Add(1)
	defer d.running.Add(-1)
	if !d.ended.Load() {
		add()
	}
}

// end returns after the last such add.
func (d *delaysOfWorkers) end() {
	for d.ended.Store(true); d.running.Load() > 0; {
		pause()
	}
}
