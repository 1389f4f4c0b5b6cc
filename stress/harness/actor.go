package harness

import (
	"context"
	"math"
	"time"
)

// actor has what every goroutine of a round needs: the queue, the records, and
// a random source.
type actor struct {
	*round
	dice
	recorder
	budget     [mostWatched + 1]budget // the budget of each watched key
	operations uint64
	steps      uint64 // operations that counted as progress
	gets       uint64 // Gets that returned a key
	dones      uint64
	asked      asked
	// The state before the current Get.
	before      frontiers
	clockBefore int64
	stale       *staleClaims // nil without the ingredient Claims
}

// unreported is the number of steps between two signs of progress.
const unreported = 16

// sign counts an operation that makes progress. Other operations, such as Len
// or a Get that returns nothing, are only counted: the watchdog must not take
// them for progress.
//
//go:norace
func (a *actor) sign() {
	a.operations++
	a.steps++
	if a.steps%unreported == 0 {
		a.progress.Add(unreported)
	}
}

// has reports whether the round's mix has an ingredient.
//
//go:norace
func (a *actor) has(i Ingredient) bool { return a.plan.Mix.Has(i) }

// affordable takes one add of a key from the budget.
//
//go:norace
func (a *actor) affordable(op operation, key int) bool {
	if !watched(key) {
		return true
	}
	b := &a.budget[key]
	b.adds--
	if op != opAdd {
		b.delays--
	}
	return b.adds >= 0 && b.delays >= 0
}

// plain reports whether nothing is recorded about a key. Then the calls are as
// fast as possible.
//
//go:norace
func (a *actor) plain(key int) bool {
	return a.ledger == nil && !watched(key) && !a.has(Panics)
}

// add calls Add, AddAfter or AddRateLimited, and records the call.
func (a *actor) add(op operation, key int, delay time.Duration) {
	if !a.affordable(op, key) {
		return
	}
	a.sign()
	if a.plain(key) {
		a.asked.count(op, delay)
		a.call(op, key, delay)
		return
	}
	e := event{operation: op, key: int32(key), delay: delay, stepped: a.timeless()}
	var number uint64
	if a.ledger != nil {
		number = a.ledger.want(key)
		if classOf(key) == delayed && op == opAddAfter {
			e.clock = a.ledger.wantIn(key, delay)
		}
	}
	e.call = now() // after the records: a Get stamped earlier did not serve this add
	panicked := attempt(func() { a.call(op, key, delay) })
	e.end = now()
	e.unsure = panicked != noPanic || a.queue.ShuttingDown()
	if panicked == noPanic {
		a.asked.count(op, delay)
	}
	a.settleAdd(&e, number)
}

// settleAdd records the result of an add.
func (a *actor) settleAdd(e *event, number uint64) {
	if a.ledger != nil {
		a.settleInLedger(e, number)
	}
	a.record(*e)
}

func (a *actor) settleInLedger(e *event, number uint64) {
	key := int(e.key)
	a.ledger.keys[key].ended.Add(1)
	if due := a.ledger.keys[key].due.Load(); e.operation == opAddRateLimited && classOf(key) == delayed && due < math.MaxInt64 {
		e.clock = due // set by the limiter's answer
	}
	if e.unsure {
		return
	}
	if e.operation == opAdd {
		a.asked.sure++
	}
	if e.operation == opAdd || !a.plan.dropsDelayed() {
		a.ledger.land(key, number)
	}
}

func (a *actor) call(op operation, key int, delay time.Duration) {
	switch op {
	case opAdd:
		a.queue.Add(key)
	case opAddAfter:
		a.queue.AddAfter(key, delay)
	case opAddRateLimited:
		a.asked.limited++
		a.queue.AddRateLimited(key)
	}
}

// get calls Get, or GetContext with a context that may end. It returns the key
// -1 if there is none. If ok is false, the queue is shut down.
func (a *actor) get() (key int, ok bool) { return a.getBy(a.ask) }

// getFor calls GetContext with a context that ends after a time.
func (a *actor) getFor(limit time.Duration) (key int, ok bool) {
	return a.getBy(func() (int, bool, bool) { return a.askFor(limit) })
}

func (a *actor) getBy(ask func() (key int, ok, canceled bool)) (key int, ok bool) {
	a.operations++
	a.readOrder()
	e := event{operation: opGet, call: now()}
	key, ok, canceled := ask()
	if ok && !canceled && a.strange(key) {
		return -1, true
	}
	if ok && !canceled && a.plain(key) {
		a.gets++
		return key, true
	}
	e.end = now()
	switch {
	case canceled:
		return -1, true
	case !ok:
		e.operation, e.key = opGetNothing, -1
		a.recordNothing(e)
		return -1, false
	}
	a.took(e, key)
	return key, true
}

// took records a key that a Get returned.
func (a *actor) took(e event, key int) {
	a.gets++
	e.key = int32(key)
	if a.ledger != nil {
		a.ledger.keys[key].stuck.before.Store(a.clockBefore)
		e.clock = a.ledger.begin(key, a.plan.lineOf(key), a.before, e.call)
		if classOf(key) == delayed {
			a.asked.delayedGets++
		}
	}
	a.record(e)
}

// readOrder reads the frontiers, and the clock if ages matter. The caller calls
// it before a Get.
func (a *actor) readOrder() {
	if a.ledger != nil && a.has(Ages) {
		a.clockBefore = a.ledger.time()
	}
	if a.ledger != nil && a.ledger.order != nil {
		a.before = a.ledger.order.read(a.before)
	}
}

// strange reports whether a key was handed out that no actor adds.
func (a *actor) strange(key int) bool {
	if key >= 0 && key < a.plan.Keys {
		return false
	}
	a.violated.report("C16", -1, "an item was handed out that no actor adds")
	return true
}

func (a *actor) ask() (key int, ok, canceled bool) {
	if !a.has(Cancellations) || !a.chance(8) {
		key, shutdown := a.getInTurn()
		return key, !shutdown, false
	}
	return a.askFor(time.Duration(a.roll(1000)) * time.Microsecond)
}

func (a *actor) askFor(limit time.Duration) (key int, ok, canceled bool) {
	ctx, cancel := context.WithTimeout(a.context, limit)
	defer cancel()
	key, ok, err := a.queue.getContext(ctx)
	return key, ok, err != nil
}

// done calls Done. If the hash function panics in it, it calls Done again.
func (a *actor) done(key int) {
	if a.plain(key) {
		a.sign()
		a.queue.Done(key)
		a.dones++
		return
	}
	for again := true; again; {
		a.sign()
		e := event{operation: opDone, key: int32(key), call: now()}
		again = attempt(func() { a.queue.Done(key) }) == hashPanics
		e.end, e.unsure = now(), again
		a.record(e)
	}
	a.dones++
}

// forget calls Forget and NumRequeues.
func (a *actor) forget(key int) {
	a.sign()
	a.asked.forgets++
	attempt(func() { a.queue.Forget(key) })
	if n := a.queue.NumRequeues(key); n < 0 || n > a.mostRequeues() {
		a.violated.report("C28", -1, "NumRequeues of key %[2]d is %[1]d", n, key)
	}
}

// mostRequeues returns the known maximum of requeues of a key.
func (r *round) mostRequeues() int {
	if r.limiterCalls == nil {
		return math.MaxInt
	}
	return int(r.limiterCalls.asked.Load())
}
