package harness

import (
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
)

// Windows (C80): of two adds with NotAgainWithin, the queue accepts the second
// only if the window of the first has ended. So an item is not handed out twice
// within its window because of such adds.
//
// TryAddWith says whether an add was accepted. The window of an accepted add
// surely ends after the time before the call and its length. With the times
// around two calls, the ledger knows that they cannot both have been accepted,
// also if they ran at the same time. A Cancel of the key closes its window.
//
// One producer at a time adds an ordered key. So the ledger also knows that a
// refused add was refused for a reason, and that an AddWith within an hour's
// window, which says nothing, was refused. A run of the key then breaks the
// promise.

// A window is that of an add which the queue accepted.
type window struct {
	before, after int64 // the ledger's time before and after the call
	length        int64
	cancels       uint64 // the Cancels before the call, or inCancel
}

// inCancel is the number of Cancels while one is running.
const inCancel = ^uint64(0)

// windowRecord is what the ledger knows about the windows of a key.
type windowRecord struct {
	latest atomic.Pointer[window]
	// cancels counts the Cancels that began, and canceled those that ended.
	cancels, canceled atomic.Uint64
	// refused reports, for an ordered key, that its latest add must be refused.
	refused atomic.Bool
}

// windowOf returns the window of an add that is about to be called.
func (l *ledger) windowOf(key int, length time.Duration) *window {
	r := &l.keys[key].windows
	w := &window{length: int64(length), cancels: inCancel}
	ended := r.canceled.Load() // first: a Cancel in progress then counts as begun below
	if begun := r.cancels.Load(); begun == ended {
		w.cancels = begun
	}
	w.before = l.time()
	return w
}

// surelyOpen reports whether an add at some time must be refused.
func (w *window) surelyOpen(at int64) bool { return at < w.before+w.length }

// accepted is called after an add that the queue has accepted.
func (l *ledger) accepted(key int, w *window) {
	r := &l.keys[key].windows
	w.after = l.time()
	old := r.latest.Swap(w)
	if old == nil || old.cancels == inCancel || r.cancels.Load() != old.cancels || w.cancels != old.cancels {
		return
	}
	if old.surelyOpen(w.after) && w.surelyOpen(old.after) {
		l.violated.report("C80", key, "key %d was added twice, %v and %v ago, and the windows of both adds are open: %v and %v",
			key, time.Duration(w.after-old.before), time.Duration(w.after-w.before), time.Duration(old.length), time.Duration(w.length))
	}
}

// refusedAgain is called after an add that was refused because of a window.
func (l *ledger) refusedAgain(key int, w *window) {
	if classOf(key) != ordered {
		return // another actor may have added it meanwhile
	}
	latest := l.keys[key].windows.latest.Load()
	if latest == nil {
		l.violated.report("C80", key, "an add of key %d was refused, and no window was open", key)
	} else if late := w.before - latest.after - latest.length; late > int64(2*tick) {
		l.violated.report("C80", key, "an add of key %d was refused %v after its window had ended", key, time.Duration(late))
	}
}

// checkRefused is called after a Get of an ordered key.
func (l *ledger) checkRefused(key int, r *record) {
	if r.windows.refused.Load() {
		l.violated.report("C80", key, "key %d was handed out, and its latest add was within the window of the one before", key)
	}
}

// longWindow is a window that outlasts a round.
const longWindow = time.Hour

// inLongWindow reports whether any add with a window must be refused.
func (r *windowRecord) inLongWindow() bool {
	w := r.latest.Load()
	return w != nil && w.length == int64(longWindow)
}

// putOnce is put with NotAgainWithin.
func (a *actor) putOnce(key int) bool {
	length := 1 + time.Duration(a.roll(int(2*longestDelay)))
	if a.chance(16) {
		length = longWindow
	}
	o := shardq.AddOptions{NotAgainWithin: length, Priority: a.plan.priorityOf(key)}
	if a.ledger == nil {
		return a.admit(key, onceWith(o)) == nil
	}
	w := a.ledger.windowOf(key, length)
	if classOf(key) == ordered && a.ledger.keys[key].windows.inLongWindow() && a.chance(2) {
		a.addInVain(key, o)
		return false
	}
	switch err := a.admit(key, onceWith(o)); err {
	case nil:
		a.ledger.accepted(key, w)
		return true
	case shardq.ErrNotAgain:
		a.ledger.refusedAgain(key, w)
	}
	return false
}

// onceWith calls TryAddWith.
func onceWith(o shardq.AddOptions) admission {
	return func(a *actor, key int) (way string, err error) {
		return " by TryAddWith, once in " + o.NotAgainWithin.String(), a.queue.tryAddWith(key, o)
	}
}

// addInVain calls AddWith for an ordered key whose window is open.
func (a *actor) addInVain(key int, o shardq.AddOptions) {
	r := &a.ledger.keys[key]
	r.windows.refused.Store(true)
	a.sign()
	if attempt(func() { a.queue.addWith(key, o) }) != noPanic {
		a.asked.perhaps++
		return
	}
	a.asked.immediate++
}

// closeWindow is called before a Cancel. The returned function is called after
// it.
func (l *ledger) closeWindow(key int) (closed func()) {
	r := &l.keys[key].windows
	r.cancels.Add(1)
	return func() {
		r.latest.Store(nil)
		r.canceled.Add(1)
	}
}
