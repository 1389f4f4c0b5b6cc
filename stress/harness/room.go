package harness

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
)

// Room, seen from outside (C40): where nothing is added without asking for room, the keys
// that the queue surely holds are at most its capacity. An ordered key is surely held
// from the return of its add to its Done, a free one from the return of a Get to its Done.

// enter counts a key that is surely held.
func (l *ledger) enter(key int) {
	if l.capacity == 0 || l.misused(key) {
		return
	}
	if n := l.inside.Add(1); n > l.capacity {
		l.violated.report("C40", key, "with key %d, the queue holds %d keys at least; its capacity is %d, and all asked for room",
			key, n, l.capacity)
	}
}

// leave is called before what may end that.
func (l *ledger) leave(key int) {
	if l.capacity > 0 && !l.misused(key) && classOf(key) != delayed {
		l.inside.Add(-1)
	}
}

// put adds a key at once. In a round with room it may ask for that, and in a strict one
// it does. It reports false if the key was not taken in.
func (a *actor) put(key int, mayWait bool) bool {
	switch {
	case a.has(Priorities) && !a.has(Room):
		return a.addAtPriority(key)
	case !a.has(Room) || !a.plan.Strict && a.chance(2):
		a.add(opAdd, key, 0)
		return true
	case mayWait && a.chance(3):
		return a.admit(key, a.waiting()) == nil
	default:
		return a.admit(key, (*actor).trying) == nil
	}
}

// A way to ask for room, and how it is called in a history.
type admission func(a *actor, key int) (way string, err error)

// trying is TryAdd.
func (a *actor) trying(key int) (way string, err error) { return " by TryAdd", a.queue.tryAdd(key) }

// waiting is AddContext, with a context that lasts, or ends some time, or has ended.
func (a *actor) waiting() admission {
	lasts := a.chance(3)
	return func(a *actor, key int) (way string, err error) {
		ctx := a.context
		if !lasts {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, time.Duration(a.roll(1000))*time.Microsecond)
			defer cancel()
		}
		err = a.queue.addContext(ctx, key)
		if lasts && err != nil && err != shardq.ErrShutDown {
			a.violated.report("C40", key, "AddContext of key %d says %v, whose context lasts", key, err)
		}
		return " by AddContext", err
	}
}

// errPanicked stands for the panic of user code in an add.
type errPanicked struct{}

func (errPanicked) Error() string { return "user code panicked" }

// admit asks for room. What is refused leaves no trace, but that TryAdd counts what it
// drops after the shutdown.
func (a *actor) admit(key int, ask admission) (err error) {
	if !a.affordable(opAdd, key) {
		return errPanicked{}
	}
	a.sign()
	e := event{operation: opAdd, key: int32(key)}
	var number uint64
	if a.ledger != nil {
		number = a.ledger.want(key)
	}
	e.call = now()
	if attempt(func() { e.way, err = ask(a, key) }) != calm {
		err = errPanicked{}
	}
	e.end = now()
	switch {
	case err == nil:
		a.asked.count(opAdd, 0)
		a.settleAdd(&e, number)
		return nil
	case err == shardq.ErrShutDown:
		a.asked.perhaps++
		if !a.queue.ShuttingDown() {
			a.violated.report("C40", key, "an add of key %d that asks for room was told of a shutdown that there is not", key)
		}
	case err == shardq.ErrFull:
		a.asked.refused++
	case err == error(errPanicked{}):
		a.asked.perhaps++ // after a wait, AddContext asks for the group's weight once more
	}
	if a.ledger != nil {
		a.ledger.keys[key].ended.Add(1)
	}
	return err
}

// putHeld adds the key that a worker has in hand, for which no room is needed.
func (c *consumer) putHeld(key int) {
	ask := admission((*actor).trying)
	if c.chance(2) {
		ask = c.waiting()
	}
	if err := c.admit(key, ask); err == shardq.ErrFull {
		c.violated.report("C40", key, "there was no room for key %d, which a worker had in hand", key)
	}
}

// watermarks returns where the hook is told, for a round with room, and the hook.
func (p Plan) watermarks(l *levels) (high, low int, hook func(bool)) {
	high = 1 + p.Capacity/2
	return high, high / 3, l.tell
}

// levels see to it that the watermark hook is told in turn.
type levels struct {
	violated *violations
	high     atomic.Bool
	telling  atomic.Int32
	told     atomic.Uint64
}

func (l *levels) tell(high bool) {
	if l.telling.Add(1) > 1 {
		l.violated.report("C41", -1, "OnWatermark was called while it was being called")
	}
	if l.high.Swap(high) == high {
		l.violated.report("C41", -1, "OnWatermark was told twice in a row that high is %t", high)
	}
	l.told.Add(1)
	l.telling.Add(-1)
}

// checkRoom is called when the queue is at rest: then there is room for as many keys as it
// may hold, and the watermarks were told of.
func (r *round) checkRoom(a *actor) {
	if r.plan.Capacity == 0 || r.violated.stopped.Load() {
		return
	}
	for deadline := time.Now().Add(grace); r.levels.high.Load() && time.Now().Before(deadline); {
		breathe() // whoever made it so may still have to look
	}
	if r.levels.high.Load() {
		r.violated.report("C41", -1, "at rest, with nothing held, OnWatermark was told last that the number is high")
	}
	if s, ok := r.queue.stats(); ok && s.Held != 0 {
		r.violated.report("C40", -1, "at rest, Stats says that %d items are held", s.Held)
	}
	for n := range min(r.plan.Capacity, r.plan.Keys/4) {
		if err := a.admit(4*n, (*actor).trying); err == shardq.ErrFull {
			r.violated.report("C40", 4*n, "at rest, after %d adds, there is no room for another; the capacity is %d", n, r.plan.Capacity)
		}
	}
	for !r.atRest() && !r.violated.stopped.Load() {
		breathe()
	}
}

// checkExceeded compares what was taken in beyond the capacity with what could be.
func (r *round) checkExceeded(a *account, exceeded uint64) {
	most := a.immediate + a.deferred + a.perhaps
	if r.plan.Strict {
		most = r.exceeded
	}
	if r.plan.Capacity == 0 {
		most = 0
	}
	if exceeded > most {
		r.violated.report("C40", -1, "%d items were taken in beyond the capacity; %d could be", exceeded, most)
	}
}
