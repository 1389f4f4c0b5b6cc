package shard

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq/internal/chunked"
	"github.com/shardq/shardq/shard/internal/items"
)

// A Change is what can happen to an item in processing.
type Change uint8

const (
	AddedAgain       Change = iota + 1 // the item was added
	CanceledInFlight                   // Cancel was called for the item
)

// watches keep changes under the lock of a shard, and report them after it.
type watches struct {
	used    atomic.Bool // there ever was a watch; a set without one reads only this
	mu      sync.Mutex  // of byPlace; a leaf, also under a shard's lock
	byPlace map[uint64]*watcher
	changes outbox[change]
}

type watcher struct {
	fence uint64 // not sealed
	tell  func(Change)
}

type change struct {
	watch *watcher
	what  Change
}

// Watch calls tell when the item in processing is added again or canceled,
// until stop is called, and at once for what has happened before. No lock is
// held. A later watch replaces this one.
func (s *Core) Watch(h Handle, tell func(Change)) (stop func()) {
	s.watches.used.Store(true)
	w := &watcher{fence: h.fence &^ sealed, tell: tell}
	added, canceled := s.addWatch(h, w)
	if canceled {
		tell(CanceledInFlight)
	}
	if added {
		tell(AddedAgain)
	}
	return func() { s.watches.remove(h.Place(), w) }
}

// addWatch works in one hold of the lock, so that no change is missed.
func (s *Core) addWatch(h Handle, w *watcher) (added, canceled bool) {
	sh, e := s.lockClaimed(h)
	defer sh.unlock()
	if e == nil {
		return false, false
	}
	if w != nil {
		s.watches.put(h.Place(), w)
	}
	return e.Phase() == items.Dirty, sh.wasCanceled(h.id, e)
}

// keep keeps a change for a watch. It may meet the watch of an earlier
// processing, which another consumer has ended.
func (w *watches) keep(place, fence uint64, what Change) effects {
	w.mu.Lock()
	one := w.byPlace[place]
	w.mu.Unlock()
	if one == nil || one.fence != fence {
		return 0
	}
	keep(&w.changes, change{one, what})
	return tells
}

func (w *watches) put(place uint64, one *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byPlace == nil {
		w.byPlace = map[uint64]*watcher{}
	}
	w.byPlace[place] = one
}

// remove removes a watch, unless a later one has replaced it.
func (w *watches) remove(place uint64, one *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byPlace[place] == one {
		delete(w.byPlace, place)
	}
}

func (w *watches) send() { send(&w.changes, func(c change) { c.watch.tell(c.what) }) }

func (sh *shard) noteChange(id uint32, e *items.Entry, what Change) effects {
	if !sh.set.watches.used.Load() {
		return 0
	}
	h := sh.handle(id, e)
	return sh.set.watches.keep(h.Place(), h.fence&^sealed, what)
}

func (sh *shard) noteCancel(id uint32, e *items.Entry) effects {
	sh.table.NoteCancel(id, sh.table.FenceOf(id, e)|sealed)
	return sh.noteChange(id, e, CanceledInFlight)
}

func (sh *shard) wasCanceled(id uint32, e *items.Entry) bool {
	return sh.table.WasCanceled(id, sh.table.FenceOf(id, e)|sealed)
}

// CancelRun marks the processing of an item as canceled, even if its claim is about
// to end. See [Core.ReportChanges].
func (s *Set[T]) CancelRun(item T, a *Address) {
	sh := s.Core.shard(int(a.shard))
	sh.lock()
	defer sh.unlock()
	if id, e := sh.inProcessing(items.KeyOf(&item), a.to.hash); id != 0 {
		sh.noteCancel(id, e)
	}
}

// KeepRun undoes a [Set.CancelRun].
func (s *Core) KeepRun(h Handle) {
	sh, e := s.lockClaimed(h)
	defer sh.unlock()
	if e != nil && sh.wasCanceled(h.id, e) {
		sh.table.NoteCancel(h.id, 0)
	}
}

// Changed reports whether the item was added again, and whether it was
// canceled, since the hand-out that h names.
func (s *Core) Changed(h Handle) (addedAgain, canceled bool) {
	return s.addWatch(h, nil)
}

// KeepWaits makes the set remember how long items were ready, if it keeps ages.
func (s *Core) KeepWaits() { s.coarse.KeepsWaits.Store(true) }

// Waited returns how long an item in processing had been ready, if that was
// kept.
func (s *Core) Waited(h Handle) (waited time.Duration, ok bool) {
	sh, e := s.lockClaimed(h)
	defer sh.unlock()
	if e == nil || sh.table.times == nil || sh.table.times.waits == nil {
		return 0, false
	}
	ready := chunked.Lookup(sh.table.times.waits, h.id)
	if ready == nil || *ready == 0 {
		return 0, false // handed out before waits were kept
	}
	return max(0, s.time.Moment(sh.table.times.of(h.id)).Sub(s.time.Moment(*ready))), true
}

// GroupAt returns the group of the item in processing, or "".
func (s *Core) GroupAt(h Handle) string {
	sh, e := s.lockClaimed(h)
	defer sh.unlock()
	if e == nil {
		return ""
	}
	return sh.line.Group(h.id)
}

// A watchdog calls a hook for each processing that takes long. It needs the
// ages. The driver wakes for it when the oldest processing may have lasted too
// long. If next is never, a consumer that takes an item sets it.
type watchdog struct {
	set   *Core
	after uint64        // the ticks that are too long, or 0 without a hook
	next  atomic.Uint64 // when the driver has to search again, or never
}

// begin follows a hand-out, with no lock held.
func (w *watchdog) begin() {
	if w.after > 0 {
		w.start()
	}
}

func (w *watchdog) start() {
	if w.next.Load() != never {
		return
	}
	next := w.set.coarse.Now.Load()/w.set.time.Tick + w.after
	if w.next.CompareAndSwap(never, next) && next < w.set.driver.armed.Load() {
		w.set.driver.pokeKeeping() // if it panics, the next call that reaches the driver sets the timer
	}
}

// search sets next to never before it searches. So a consumer that takes an
// item in a shard that search has already left sets next again.
func (w *watchdog) search(now uint64) {
	w.next.Store(never)
	first := uint64(never)
	for sh := range w.set.shards.made() {
		next := sh.findStuck(now)
		for next <= now {
			next = sh.findStuck(now)
		}
		first = min(first, next)
	}
	for {
		next := w.next.Load()
		if first >= next || w.next.CompareAndSwap(next, first) {
			return
		}
	}
}

// findStuck reports some of the stuck items, and returns when to search again.
func (sh *shard) findStuck(now uint64) (next uint64) {
	found := 0
	sh.lock()
	defer sh.unlock()
	if sh.table == nil {
		return never
	}
	t := sh.table.times
	id := t.inFlight.Head
	if t.reported != 0 {
		id = sh.table.At(t.reported).Next
	}
	for ; id != 0; id = sh.table.At(id).Next {
		since := min(t.of(id)/sh.set.time.Tick, now) // now is earlier if the clock was set back
		next = since + sh.set.watchdog.after
		if next > now || found == stepsPerHold {
			return next
		}
		keep(&sh.set.stuck, sh.row(id)) // or drops it, if a shutdown has begun
		t.reported = id
		found++
	}
	return never
}
