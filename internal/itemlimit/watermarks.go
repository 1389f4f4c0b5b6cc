package itemlimit

import "sync/atomic"

// watermarks call a hook when the weight held rises to high, and when it then
// falls to low. Calls alternate and never overlap.
//
// A goroutine that finds a call due sets busy, makes the call, clears busy, and
// checks again, for changes during a call. Several of these lead to one call,
// or to none if they cancel out.
type watermarks struct {
	high, low    int64
	hook         func(high bool)
	reportedHigh atomic.Bool // the argument of the last call
	busy         atomic.Bool // a goroutine makes calls
}

// notify makes the calls that are due. No lock may be held.
func (w *watermarks) notify(held *atomic.Int64) {
	if w.hook == nil {
		return
	}
	for w.due(held.Load()) && w.busy.CompareAndSwap(false, true) {
		w.report(held)
	}
}

func (w *watermarks) due(held int64) bool {
	if w.reportedHigh.Load() {
		return held <= w.low
	}
	return held >= w.high
}

// report makes the calls that are due, with busy set. The hook may panic, so
// reportedHigh is set before the call.
func (w *watermarks) report(held *atomic.Int64) {
	defer w.busy.Store(false)
	for w.due(held.Load()) {
		high := !w.reportedHigh.Load()
		w.reportedHigh.Store(high)
		w.hook(high)
	}
}
