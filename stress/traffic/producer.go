package traffic

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/stress/ledger"
)

const longest = 4 * time.Millisecond

func (a *actor) produce(n int) {
	for i := 0; i < n && !a.found.Any(); i++ {
		a.produceOne()
		if a.chance(4) {
			runtime.Gosched()
		}
	}
}

func (a *actor) produceOne() {
	key := a.IntN(a.plan.keys)
	switch class := a.ledger.Class(key); {
	case a.plan.has(misuse|panics) && a.chance(40):
		a.misbehave()
	case a.plan.has(windows) && a.plan.capacity == 0 && a.chance(50):
		a.contest()
	case class == ledger.Free:
		a.produceFree(key)
	case class == ledger.Once || a.plan.has(delays):
		a.produceOwned(key)
	}
}

type outcome int

const (
	accepted outcome = iota
	unsure           // a shutdown or a window may have refused it
	refused
	notAgain // refused because of a window
)

func (a *actor) produceFree(key int) {
	switch {
	case a.plan.has(cancels) && a.chance(8):
		a.cancelFree(key)
	case a.plan.has(batches) && !a.plan.strict && a.chance(6):
		a.produceBatch()
	default:
		a.addFree(key, a.someOptions(), false)
	}
}

func (a *actor) addFree(key int, o addOptions, held bool) {
	number := a.ledger.Want(key)
	if a.add(key, o, held, false) == accepted {
		a.ledger.Land(key, number, isDelayed(o))
	}
}

func isDelayed(o addOptions) bool {
	return o.After > 0 || o.RateLimited || o.Policy == shardq.KeepLatest || o.Policy == shardq.KeepOld
}

func (a *actor) someOptions() (o addOptions) {
	if a.plan.has(delays) && a.chance(3) {
		o.After = a.upTo(longest)
	}
	if a.plan.has(retries) && a.chance(8) {
		o.RateLimited = true
	}
	if a.plan.has(policies) && a.chance(2) {
		o.Policy = shardq.DelayPolicy(a.IntN(4))
		if a.chance(2) {
			o.MaxWait = a.upTo(longest)
		}
	}
	if a.plan.has(priorities) && a.chance(2) {
		o.Priority = a.IntN(a.plan.priorities)
	}
	if a.plan.has(windows) && a.chance(6) {
		o.NotAgainWithin = a.upTo(longest)
	}
	return o
}

// add adds a key by one of the methods that can. A held key needs no room. An
// exact add says what has become of it, and does not block.
func (a *actor) add(key int, o addOptions, held, exact bool) outcome {
	a.adds.Add(1)
	switch admit := a.plan.strict || a.plan.capacity > 0 && a.chance(2); {
	case exact || admit && a.chance(2):
		return a.judge(a.queue.TryAdd(key, o), held, true)
	case admit || a.chance(8):
		return a.addContext(key, o, held)
	case o == addOptions{}:
		a.queue.Add(key)
	case o == addOptions{After: o.After}:
		a.queue.AddAfter(key, o.After)
	case o == addOptions{RateLimited: true}:
		a.queue.AddRateLimited(key)
	case a.plan.has(batches) && a.chance(4):
		a.queue.AddBatch([]int{key}, o)
	default:
		a.queue.AddWith(key, o)
	}
	if o.NotAgainWithin > 0 || a.queue.ShuttingDown() {
		return unsure
	}
	return accepted
}

// A holder of a key must not wait for long.
func (a *actor) addContext(key int, o addOptions, held bool) outcome {
	lasts := !held && a.chance(2)
	ctx := a.context
	if !lasts {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.upTo(time.Millisecond))
		defer cancel()
	}
	err := a.queue.AddContext(ctx, key, o)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return refused
	}
	return a.judge(err, held, false)
}

func (a *actor) judge(err error, held, mayBeFull bool) outcome {
	switch {
	case err == nil:
		return accepted
	case errors.Is(err, shardq.ErrNotAgain) && a.plan.has(windows):
		return notAgain
	case errors.Is(err, shardq.ErrShutDown) && a.queue.ShuttingDown():
		return refused
	case errors.Is(err, shardq.ErrFull) && mayBeFull && a.plan.capacity > 0 && !held:
		return refused
	}
	a.found.Add("capacity: an add returned %v (held: %t)", err, held)
	return refused
}

func (a *actor) produceBatch() {
	o, keys := a.someOptions(), make([]int, 2+a.IntN(70))
	numbers := make([]int64, len(keys))
	for i := range keys {
		keys[i] = a.IntN(a.plan.keys) &^ 3
		numbers[i] = a.ledger.Want(keys[i])
	}
	a.adds.Add(uint64(len(keys)))
	a.queue.AddBatch(keys, o)
	sure := o.NotAgainWithin <= 0 && !a.queue.ShuttingDown()
	for i, key := range keys {
		if sure {
			a.ledger.Land(key, numbers[i], isDelayed(o))
		}
	}
}

func (a *actor) cancelFree(key int) {
	a.cancel(key)
	a.ledger.Excuse(key)
}

func (a *actor) cancel(key int) shardq.Canceled {
	c := a.queue.Cancel(key)
	if c.Any() {
		a.cancels.Add(1)
	}
	if c.Ready || c.Dirty {
		a.withdrawn.Add(1)
	}
	return c
}

func (a *actor) own(key int) bool {
	if !a.ledger.Own(key) {
		return false
	}
	item, held := a.queue.Lookup(key)
	a.found.If(held && !a.plan.has(pools) && !a.ledger.Hurried.Load() && !a.queue.ShuttingDown(),
		"conservation: key %d is idle, and Lookup says %v", key, item)
	if held {
		a.ledger.Disown(key)
	}
	return !held
}

// produceOwned adds an idle key: a Once key at once, perhaps with a window, and a
// Timed key with a delay. While a fake clock stands still, it adds a Timed key
// several times, under policies.
func (a *actor) produceOwned(key int) {
	if !a.own(key) {
		return
	}
	timed := a.ledger.Class(key) == ledger.Timed
	o := addOptions{Priority: a.plan.priorityOf(key)}
	if timed {
		o.After = a.upTo(longest)
	} else if a.plan.has(windows) && a.chance(3) {
		o.NotAgainWithin = []time.Duration{a.upTo(longest), 1000 * time.Hour}[a.IntN(8)/7]
	}
	if timed && a.plan.has(policies) && a.chance(3) {
		o.MaxWait = a.upTo(longest)
	}
	exact := timed && a.fake != nil && a.plan.has(policies)
	if exact {
		a.stepping.RLock()
		defer a.stepping.RUnlock()
	}
	cancels, before := a.plan.has(cancels) && a.chance(6), a.now()
	d := deadline{ledger.Forever, ledger.Forever}
	d.change(before, o)
	number := a.ledger.Expect(key, d.due, cancels)
	switch a.add(key, o, false, exact || o.NotAgainWithin > 0) {
	case accepted:
		if exact {
			number = a.putOff(key, &d)
		}
		if o.NotAgainWithin > 0 {
			a.ledger.Admitted(key, before, o.NotAgainWithin)
		}
		a.ledger.Land(key, number, timed)
		a.leave(key, cancels)
	case unsure:
		a.ledger.Unsure(key)
		a.ledger.Leave(key)
	case notAgain:
		a.ledger.Refused(key, before, 2*a.plan.tick)
		a.ledger.TakenBack(key, "windows")
	default:
		a.ledger.TakenBack(key, "capacity")
	}
}

func (a *actor) leave(key int, cancels bool) {
	if !cancels {
		a.ledger.Accepted(key)
		a.ledger.Leave(key)
		return
	}
	c := a.cancel(key)
	a.ledger.CloseWindow(key)
	if c.Any() {
		a.ledger.TakenBack(key, "cancel")
		return
	}
	item, _ := a.queue.Lookup(key)
	a.found.If(item.State == stats.Ready || item.State == stats.Delayed, "cancel: after a Cancel key %d is %v", key, item.State)
	a.ledger.Leave(key)
}

// A deadline is the earliest time at which a key may run, as policies change
// it.
type deadline struct{ due, limit int64 }

func (d *deadline) change(now int64, o addOptions) {
	switch next := now + int64(o.After); o.Policy {
	case shardq.KeepEarliest:
		d.due = min(d.due, next)
	case shardq.KeepLatest:
		d.due = max(d.due, next)
	case shardq.KeepNew:
		d.due = next
	}
	if o.MaxWait > 0 {
		d.limit = min(d.limit, now+int64(o.MaxWait))
	}
	d.due = min(d.due, d.limit)
}

// putOff adds a delayed key again, while the clock stands still.
func (a *actor) putOff(key int, d *deadline) (number int64) {
	for range 1 + a.IntN(3) {
		o := addOptions{After: a.upTo(longest), Policy: shardq.DelayPolicy(a.IntN(4)), Priority: a.plan.priorityOf(key)}
		if a.chance(3) {
			o.MaxWait = a.upTo(longest)
		}
		before := d.due
		d.change(a.now(), o)
		number = a.ledger.Want(key)
		a.ledger.Postpone(key, d.due)
		if a.add(key, o, true, true) != accepted { // a shutdown
			a.ledger.Postpone(key, min(before, d.due))
			a.ledger.Unsure(key)
			return 0
		}
		a.checkDeadline(key, d.due)
	}
	return number
}

// checkDeadline compares a deadline with what the queue says: it is the first
// tick at or after it.
func (a *actor) checkDeadline(key int, due int64) {
	item, held := a.queue.Lookup(key)
	if a.ledger.Hurried.Load() || a.queue.ShuttingDown() {
		return
	}
	late := time.Duration(int64(item.Deadline.Sub(realStart)) - due)
	a.found.If(!held || item.Deadline.IsZero() || late < 0 || late >= a.plan.tick,
		"delays: Lookup says that key %d is %v, with a deadline %v too late", key, item.State, late)
}

// misbehave makes a call that must change nothing: a Done of an idle key, or an
// add in which user code panics.
func (a *actor) misbehave() {
	if !a.plan.has(panics) || a.plan.has(misuse) && a.chance(2) {
		a.misuses.Add(1)
		attempt(func() { a.queue.Done(stray) })
		return
	}
	calls := []func(){
		func() { a.queue.AddRateLimited(hostile) }, func() { a.queue.Add(hostile) }, func() { a.queue.Done(hostile) },
		func() { a.queue.AddWith(hostile, addOptions{After: longest, Policy: shardq.KeepNew}) },
		func() { _ = a.queue.TryAdd(hostile, addOptions{NotAgainWithin: longest}) },
	}
	if a.plan.groups == 0 && !a.plan.hashed {
		calls = calls[:1] // only the limiter is ours
	}
	a.found.If(!attempt(calls[a.IntN(len(calls))]), "panics: a panic of user code did not reach its caller")
}

func (a *actor) contest() {
	key := contested - int(a.contests.Add(1))
	errs := twice(func() error { return a.queue.TryAdd(key, addOptions{NotAgainWithin: 1000 * time.Hour}) })
	a.found.If(!a.queue.ShuttingDown() && (errs[0] == nil) == (errs[1] == nil),
		"windows: of two adds at the same time in one window, the errors are %v", errs)
	a.cancel(key)
}

func twice(do func() error) (errs [2]error) {
	var both sync.WaitGroup
	for i := range errs {
		both.Go(func() { errs[i] = do() })
	}
	both.Wait()
	return errs
}
