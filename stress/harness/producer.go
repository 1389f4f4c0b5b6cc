package harness

import (
	"math"
	"math/rand/v2"
	"runtime"
	"time"
)

// producer adds keys.
type producer struct {
	*actor
	zipf *rand.Zipf
	last bool // it must not block: there may be no consumer to make room
}

// longestDelay is the longest delay of an AddAfter. Short delays cause more
// races.
const longestDelay = 5 * time.Millisecond

func (p *producer) produce(adds int) {
	for i := range adds {
		if p.violated.stopped.Load() {
			return
		}
		p.step()
		if p.has(Bursts) && p.chance(500) && i > 0 {
			p.awaitEmpty()
		}
	}
}

// awaitEmpty waits between two bursts.
func (p *producer) awaitEmpty() {
	for p.queue.Len() > 0 && !p.violated.stopped.Load() {
		runtime.Gosched()
	}
}

// step makes one add, or the equivalent of an ingredient.
func (p *producer) step() {
	key := p.choose()
	if p.has(Claims) && p.chance(8) {
		p.endStale(key)
	}
	switch {
	case p.has(NaN) && p.chance(50):
		p.addUnequal()
	case p.has(Misuse) && p.chance(50):
		p.done(p.plan.Keys + p.roll(10)) // keys that are never added
	case p.ledger == nil || classOf(key) == free:
		p.addFree(key)
	case p.addsBatchesOnce(key) && p.chance(16):
		p.addBatchOnce(key)
	case classOf(key) == ordered:
		p.addOrdered(key)
	case p.plan.Strict:
	case p.has(Windows|Delays) && p.chance(4):
		p.addDelayedOnce(key)
	case p.has(Policies) && p.chance(2):
		p.addPolicied(key)
	case p.has(RateLimited) && p.features.CallersLimiter && (!p.has(Delays) || p.chance(4)):
		p.addLimited(key)
	case p.has(Delays):
		p.addDelayed(key)
	}
}

// addsBatchesOnce reports whether the round has batches of keys like this, with
// windows. A panic in the middle of one would leave some of it added.
func (p *producer) addsBatchesOnce(key int) bool {
	return p.has(Windows|Batches) && !p.has(Panics) && !p.plan.Strict &&
		(classOf(key) == ordered || p.has(Delays))
}

func (p *producer) choose() int {
	switch {
	case p.plan.Choice == Hot && !p.chance(10):
		return 0
	case p.plan.Choice == Zipf:
		return int(p.zipf.Uint64())
	default:
		return p.roll(p.plan.Keys)
	}
}

func (p *producer) addFree(key int) {
	switch {
	case p.has(Cancels) && p.chance(16):
		p.cancel(key)
	case p.plan.Strict:
		p.put(key, true)
	case p.has(Batches) && p.chance(30):
		p.addSome(key)
	case p.has(Policies) && p.chance(8):
		p.addWith(key, p.anyOptions())
	case p.has(RateLimited) && p.chance(8):
		p.add(opAddRateLimited, key, 0)
		if p.chance(2) {
			p.forget(key)
		}
	case p.has(Windows|Delays) && p.chance(8):
		_ = p.addOnce(key, p.onceOptions(key, p.someDelay()), true)
	case p.has(Delays) && p.chance(8):
		p.delay(key, -1)
	default:
		p.put(key, true)
	}
}

// addSome adds a batch of free keys.
func (p *producer) addSome(key int) {
	keys := []int{key}
	for range p.roll(p.roll(p.mostInABatch()) + 1) {
		if another := p.choose(); p.ledger == nil || classOf(another) == free {
			keys = append(keys, another)
		}
	}
	p.addBatch(keys)
}

// addUnequal adds an item that is not equal to itself.
func (p *producer) addUnequal() {
	p.unequal.Add(1)
	if !p.features.Control || p.chance(2) {
		attempt(func() { p.queue.addUnequal(p.roll(3)) })
		return
	}
	rejected := true
	if attempt(func() { rejected = p.queue.addUnequalControlled(p.roll(waysToAddUnequal)) }) == noPanic && !rejected {
		p.violated.report("C16", -1, "an add with a result did not report that the item was rejected")
	}
}

// delay adds with one delay, of a minimum length, or with several, of which the
// earliest counts.
func (p *producer) delay(key int, least time.Duration) {
	for again := true; again; again = p.has(Reschedules) && p.chance(2) {
		p.add(opAddAfter, key, least+time.Duration(p.roll(int(longestDelay-least))))
	}
}

// addDelayed adds the key if it is unused. If the first delay expires before
// the last add, the number of runs is unknown.
func (p *producer) addDelayed(key int) {
	r := &p.ledger.keys[key]
	if !r.claim() {
		return
	}
	r.due.Store(math.MaxInt64)
	r.policied.Store(false)
	p.delay(key, longestDelay/10)
	if p.ledger.time() < r.due.Load() && !p.withdraw(key) {
		r.runsOnce()
	}
}

// addLimited adds a delayed key once, if it is unused, with the delay of the
// limiter.
func (p *producer) addLimited(key int) {
	r := &p.ledger.keys[key]
	if !r.claim() {
		return
	}
	r.due.Store(math.MaxInt64)
	r.policied.Store(false)
	p.add(opAddRateLimited, key, 0)
	r.runsOnce()
	if p.chance(4) {
		p.forget(key)
	}
}

// addOrdered adds the key if it is unused. Otherwise it may call a surplus
// Done. Until the key is unused again, that does no harm to a correct queue.
func (p *producer) addOrdered(key int) {
	r := &p.ledger.keys[key]
	if !r.claim() {
		if p.has(Misuse) && p.chance(4) {
			p.done(key)
		}
		return
	}
	p.beginOrdered(r)
	if !p.put(key, !p.last) {
		r.use.Store(unused)
		return
	}
	p.endOrdered(key, r)
}

// beginOrdered is called before the add of a claimed key, and endOrdered after
// it.
func (p *producer) beginOrdered(r *record) {
	r.landing.Store(0)
	r.began.Store(now())
}

func (p *producer) endOrdered(key int, r *record) {
	p.ledger.awaitTurn(r)
	r.landing.Store(now())
	if p.withdraw(key) {
		return
	}
	p.ledger.countHeld(key)
	r.runsOnce()
}
