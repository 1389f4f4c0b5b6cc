package harness

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
)

// Capacity (C40): where all adds honor the capacity, the queue surely holds at
// most as many keys as its capacity. An ordered key is surely held from the
// return of its add to its Done, a free one from the return of a Get to its
// Done.

// countHeld counts a key that is surely held.
func (l *ledger) countHeld(key int) {
	if l.capacity == 0 || l.misused(key) {
		return
	}
	if n := l.surelyHeld.Add(1); n > l.capacity {
		l.violated.report("C40", key, "with key %d, the queue holds %d keys at least; its capacity is %d, and all adds honor it",
			key, n, l.capacity)
	}
}

// countReleased is called before an operation that may end that.
func (l *ledger) countReleased(key int) {
	if l.capacity > 0 && !l.misused(key) && classOf(key) != delayed {
		l.surelyHeld.Add(-1)
	}
}

// put adds a key at once, in a round with Windows sometimes with a window. In a
// round with Capacity the add may honor the capacity, and in a strict one it
// does. put reports false if the key was rejected.
func (a *actor) put(key int, mayBlock bool) bool {
	switch {
	case a.has(Windows) && a.chance(4):
		return a.addOnce(key, a.onceOptions(key, 0), mayBlock) == nil
	case a.has(Priorities) && !a.has(Capacity):
		return a.addAtPriority(key)
	case !a.has(Capacity) || !a.plan.Strict && a.chance(2):
		a.add(opAdd, key, 0)
		return true
	case mayBlock && a.chance(3):
		return a.admit(key, a.blocking()) == nil
	default:
		return a.admit(key, (*actor).trying) == nil
	}
}

// An admission is an add that honors the capacity. It returns its name for the
// history.
type admission func(a *actor, key int) (way string, err error)

// trying calls TryAdd.
func (a *actor) trying(key int) (way string, err error) { return " by TryAdd", a.queue.tryAdd(key) }

// blocking calls AddContext.
func (a *actor) blocking() admission { return a.blockingBy(" by AddContext", a.queue.addContext) }

// blockingBy calls a method with a context that lasts, ends after some time, or
// has ended.
func (a *actor) blockingBy(way string, add func(context.Context, int) error) admission {
	lasts := a.chance(3)
	return func(a *actor, key int) (_ string, err error) {
		ctx := a.context
		if !lasts {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, time.Duration(a.roll(1000))*time.Microsecond)
			defer cancel()
		}
		err = add(ctx, key)
		if lasts && err != nil && err != shardq.ErrShutDown && err != shardq.ErrNotAgain {
			a.violated.report("C40", key, "an add%s of key %d returned %v, and its context has not ended",
				way, key, err)
		}
		return way, err
	}
}

// These stand for a panic of user code in an add, and for an add that was not
// made.
var (
	errPanicked     = errors.New("user code panicked")
	errUnaffordable = errors.New("the budget of the key is used up")
)

// admit makes an add at once that honors the capacity.
func (a *actor) admit(key int, ask admission) (err error) {
	return a.admitAs(event{operation: opAdd, key: int32(key)}, ask)
}

// admitAs makes an add that honors the capacity. A rejected add has no effect,
// except that TryAdd counts adds dropped after the shutdown.
func (a *actor) admitAs(e event, ask admission) (err error) {
	key := int(e.key)
	if !a.affordable(e.operation, key) {
		return errUnaffordable
	}
	a.sign()
	var number uint64
	if a.ledger != nil {
		number = a.ledger.want(key)
	}
	e.call = now()
	if attempt(func() { e.way, err = ask(a, key) }) != noPanic {
		err = errPanicked
	}
	e.end = now()
	switch {
	case err == nil:
		a.asked.count(e.operation, e.delay)
		a.settleAdd(&e, number)
		return nil
	case err == shardq.ErrShutDown:
		a.asked.perhaps++
		if !a.queue.ShuttingDown() {
			a.violated.report("C40", key, "an add of key %d returned ErrShutDown, and there is no shutdown", key)
		}
	case err == shardq.ErrFull:
		a.asked.refused++
	case err == shardq.ErrNotAgain: // it counts as deduplicated
		a.asked.immediate++
		a.asked.sure++
		a.asked.again++
	case err == errPanicked:
		a.settlePanicked(&e, number)
		return err
	}
	if a.ledger != nil {
		a.ledger.keys[key].ended.Add(1)
	}
	return err
}

// settlePanicked records an add that panicked, and that perhaps had its effect:
// the clock may panic after that, when the timer is set.
func (a *actor) settlePanicked(e *event, number uint64) {
	if e.delay > 0 {
		a.asked.deferred++
	} else {
		a.asked.perhaps++ // after blocking, AddContext calls GroupWeight again
	}
	e.unsure = true
	a.settleAdd(e, number)
}

// putHeld adds the key that a worker holds, which needs no room.
func (c *consumer) putHeld(key int) {
	ask := admission((*actor).trying)
	if c.chance(2) {
		ask = c.blocking()
	}
	if err := c.admit(key, ask); err == shardq.ErrFull {
		c.violated.report("C40", key, "there was no room for key %d, which a worker had", key)
	}
}

// watermarks returns the watermarks and the hook, for a round with Capacity.
func (p Plan) watermarks(l *levels) (high, low int, hook func(bool)) {
	high = 1 + p.Capacity/2
	return high, high / 3, l.onWatermark
}

// levels checks that calls of the watermark hook alternate.
type levels struct {
	violated *violations
	high     atomic.Bool
	calling  atomic.Int32
	calls    atomic.Uint64
}

func (l *levels) onWatermark(high bool) {
	if l.calling.Add(1) > 1 {
		l.violated.report("C41", -1, "OnWatermark was called while it was being called")
	}
	if l.high.Swap(high) == high {
		l.violated.report("C41", -1, "OnWatermark was called twice in a row with high=%t", high)
	}
	l.calls.Add(1)
	l.calling.Add(-1)
}

// checkCapacity is called when the queue is at rest. Then the queue accepts as
// many keys as its capacity, and the hook has been called for each watermark.
func (r *round) checkCapacity(a *actor) {
	if r.plan.Capacity == 0 || r.violated.stopped.Load() {
		return
	}
	for deadline := time.Now().Add(grace); r.levels.high.Load() && time.Now().Before(deadline); {
		pause() // the goroutine that caused it may not have checked yet
	}
	if r.levels.high.Load() {
		r.violated.report("C41", -1, "at rest, with no items, the last call of OnWatermark was with high=true")
	}
	if s, ok := r.queue.stats(); ok && s.Held != 0 {
		r.violated.report("C40", -1, "at rest, Stats has %d items held", s.Held)
	}
	for n := range min(r.plan.Capacity, r.plan.Keys/4) {
		if err := a.admit(4*n, (*actor).trying); err == shardq.ErrFull {
			r.violated.report("C40", 4*n, "at rest, after %d adds, there is no room for another; the capacity is %d", n, r.plan.Capacity)
		}
	}
	for !r.atRest() && !r.violated.stopped.Load() {
		pause()
	}
}

// checkOverCapacity compares the count of items beyond the capacity with the
// possible ones.
func (r *round) checkOverCapacity(a *account, overCapacity uint64) {
	most := a.immediate + a.deferred + a.perhaps
	if r.plan.Strict {
		most = r.overCapacity
	}
	if r.plan.Capacity == 0 {
		most = 0
	}
	if overCapacity > most {
		r.violated.report("C40", -1, "%d items were accepted beyond the capacity; %d could be", overCapacity, most)
	}
}
