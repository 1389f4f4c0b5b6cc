package harness

import (
	"sync/atomic"
	"time"
)

// Windows (C80): of two adds with NotAgainWithin, the queue accepts the second
// only if the window of the first has ended. So an item is not handed out twice
// within its window because of such adds.
//
// TryAddWith and AddContextWith say whether an add was accepted. The window of
// an accepted add surely ends after the time before the call and its length.
// With the times around two calls, the ledger knows that they cannot both have
// been accepted, also if they ran at the same time, and also if they waited for
// room. A Cancel of the key closes its window.
//
// One producer at a time adds a delayed or an ordered key. So the ledger also
// knows whether an add was refused for a reason. AddWith and AddBatchWith do
// not say whether they were accepted. They were if no window was open. Within
// an hour's window they were not, and a run of the key then breaks the promise.

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
	// refused reports, for a delayed or ordered key, that its latest add must
	// be refused.
	refused atomic.Bool
	// unknown reports that an add has perhaps opened a window since.
	unknown atomic.Bool
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
	r.unknown.Store(false)
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
	r := &l.keys[key].windows
	if classOf(key) == free || r.unknown.Load() {
		return // another actor may have added it meanwhile
	}
	latest := r.latest.Load()
	if latest == nil {
		l.violated.report("C80", key, "an add of key %d was refused, and no window was open", key)
	} else if late := w.before - latest.surelyEnded(); late > 0 {
		l.violated.report("C80", key, "an add of key %d was refused %v after its window had ended", key, time.Duration(late))
	}
}

// surelyEnded returns the time from which on the window does not refuse an add.
func (w *window) surelyEnded() int64 { return w.after + w.length + int64(2*tick) }

// checkRefused is called after a Get of a delayed or ordered key.
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

// outsideWindows reports whether an add at some time cannot be refused because
// of a window.
func (r *windowRecord) outsideWindows(at int64) bool {
	w := r.latest.Load()
	return !r.unknown.Load() && (w == nil || at > w.surelyEnded())
}

// closeWindow is called before a Cancel. The returned function is called after
// it.
func (l *ledger) closeWindow(key int) (closed func()) {
	r := &l.keys[key].windows
	r.cancels.Add(1)
	return func() {
		r.latest.Store(nil)
		r.unknown.Store(false)
		r.canceled.Add(1)
	}
}
