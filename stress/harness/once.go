package harness

import (
	"context"
	"math"
	"time"

	"github.com/shardq/shardq"
)

// Single adds with NotAgainWithin (C79, C80), at once and with a delay, by
// TryAddWith and by AddContextWith.

// onceOptions draws options with a window, after a delay if there is one.
func (a *actor) onceOptions(key int, after time.Duration) shardq.AddOptions {
	o := shardq.AddOptions{After: after, Priority: a.plan.priorityOf(key)}
	o.NotAgainWithin = 1 + time.Duration(a.roll(int(2*longestDelay)))
	if a.chance(16) {
		o.NotAgainWithin = longWindow
	}
	return o
}

// someDelay draws a delay for an add with a window.
func (a *actor) someDelay() time.Duration { return 1 + time.Duration(a.roll(int(longestDelay))) }

// addOnce adds a key with a window. If it returns nil, the add was accepted.
func (a *actor) addOnce(key int, o shardq.AddOptions, mayBlock bool) (err error) {
	e := event{operation: opAdd, key: int32(key)}
	if o.After > 0 {
		e.operation, e.delay, e.stepped = opAddAfter, o.After, a.timeless()
	}
	ask := a.tryingOnce(o)
	if mayBlock && a.chance(3) {
		ask = a.blockingOnce(o)
	}
	if a.ledger == nil {
		return a.admitAs(e, ask)
	}
	r := &a.ledger.keys[key].windows
	if classOf(key) != free && r.inLongWindow() && a.chance(2) {
		a.addInVain(key, o)
		return shardq.ErrNotAgain
	}
	if o.After > 0 && classOf(key) == delayed {
		e.clock = a.ledger.wantIn(key, o.After)
	}
	w := a.ledger.windowOf(key, o.NotAgainWithin)
	switch err = a.admitAs(e, ask); err {
	case nil:
		a.ledger.accepted(key, w)
	case shardq.ErrNotAgain:
		a.ledger.refusedAgain(key, w)
	case errPanicked:
		r.unknown.Store(true)
	}
	return err
}

// tryingOnce calls TryAddWith.
func (a *actor) tryingOnce(o shardq.AddOptions) admission {
	return func(a *actor, key int) (way string, err error) {
		return " by TryAddWith" + onceIn(o), a.queue.tryAddWith(key, o)
	}
}

// blockingOnce calls AddContextWith.
func (a *actor) blockingOnce(o shardq.AddOptions) admission {
	return a.blockingBy(" by AddContextWith"+onceIn(o), func(ctx context.Context, key int) error {
		return a.queue.addContextWith(ctx, key, o)
	})
}

// onceIn describes a window for the history.
func onceIn(o shardq.AddOptions) string { return ", once in " + o.NotAgainWithin.String() }

// addInVain calls AddWith for a key whose window is open.
func (a *actor) addInVain(key int, o shardq.AddOptions) {
	a.ledger.keys[key].windows.refused.Store(true)
	a.sign()
	if attempt(func() { a.queue.addWith(key, o) }) != noPanic {
		a.asked.perhaps++
		return
	}
	a.asked.immediate++
}

// addDelayedOnce adds a delayed key with a window, if it is unused.
func (p *producer) addDelayedOnce(key int) {
	r := &p.ledger.keys[key]
	if !r.claim() {
		return
	}
	r.due.Store(math.MaxInt64)
	r.policied.Store(false)
	switch p.addOnce(key, p.onceOptions(key, p.someDelay()), true) {
	case nil:
		if !p.withdraw(key) {
			r.runsOnce()
		}
	case errPanicked: // the number of runs is unknown
	default:
		r.due.Store(math.MaxInt64) // a run would be too early
		r.use.Store(unused)
	}
}
