package room

import (
	"sync/atomic"

	"github.com/shardq/shardq/internal/shared"
)

// watermarks tell a hook when the weight that is held has risen to high, and when it has
// fallen to low after that: in turn, one call at a time.
//
// Whoever finds that there is something to tell takes the baton, tells, puts it down, and
// looks again, so that a change that came meanwhile is told by somebody. Several changes
// that come during a call are told as one, or not at all if they cancel out.
type watermarks struct {
	high, low int64
	hook      func(high bool)
	told      atomic.Bool // the last that was told was high
	busy      atomic.Bool // somebody holds the baton
}

// look tells the hook what there is to tell. It is to be called with no lock held.
func (w *watermarks) look(held *shared.Int64[shared.Held]) {
	if w.hook == nil {
		return
	}
	for w.due(held.Load()) && w.busy.CompareAndSwap(false, true) {
		w.tell(held)
	}
}

// due reports whether there is something to tell.
func (w *watermarks) due(held int64) bool {
	if w.told.Load() {
		return held <= w.low
	}
	return held >= w.high
}

// tell is called with the baton. The hook may panic.
func (w *watermarks) tell(held *shared.Int64[shared.Held]) {
	defer w.busy.Store(false)
	for w.due(held.Load()) {
		high := !w.told.Load()
		w.told.Store(high)
		w.hook(high)
	}
}
