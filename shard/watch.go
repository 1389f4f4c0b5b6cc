package shard

import (
	"sync"
	"sync/atomic"
	"time"
)

type Change uint8

const (
	AddedAgain       Change = iota + 1 // the item was added
	CanceledInFlight                   // Cancel was called for the item
)

// A change is kept in the outbox under the lock of a shard, and reported once
// that is released. The lock of watches is a leaf below it.
type watches struct {
	// used reports that there ever was a watch. A set without one reads only
	// this.
	used    atomic.Bool
	mu      sync.Mutex
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
// held. A call may come shortly after stop, but never for another processing. A
// later watch replaces this one.
func (s *Set[T]) Watch(h Handle, tell func(Change)) (stop func()) {
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

// addWatch needs one hold of the lock, so that no change is missed.
func (s *Set[T]) addWatch(h Handle, w *watcher) (added, canceled bool) {
	sh := s.shard(int(h.shard))
	sh.mu.Lock()
	defer sh.mu.Unlock()
	e := sh.claimed(h)
	if e == nil {
		return false, false
	}
	s.watches.put(h.Place(), w)
	return e.phase() == dirty, sh.table.wasCanceled(h.id, e)
}

func (w *watches) put(place uint64, one *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byPlace == nil {
		w.byPlace = map[uint64]*watcher{}
	}
	w.byPlace[place] = one
}

// Another watch may have replaced this one.
func (w *watches) remove(place uint64, one *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byPlace[place] == one {
		delete(w.byPlace, place)
	}
}

// The watch may be of an earlier processing, which another consumer has ended.
func (w *watches) keep(place, fence uint64, what Change) effects {
	w.mu.Lock()
	one := w.byPlace[place]
	w.mu.Unlock()
	if one == nil || one.fence != fence {
		return 0
	}
	w.changes.keep(change{one, what})
	return tells
}

func (w *watches) send() { w.changes.send(func(c change) { c.watch.tell(c.what) }) }

func (sh *shard[T]) noteChange(id uint32, e *entry[T], what Change) effects {
	if !sh.set.watches.used.Load() {
		return 0
	}
	h := sh.handle(id, e)
	return sh.set.watches.keep(h.Place(), h.fence&^sealed, what)
}

func (sh *shard[T]) noteCancel(id uint32, e *entry[T]) effects {
	t := sh.table
	t.needFences()
	*t.fences.canceled.Extend(id) = e.fence | sealed
	return sh.noteChange(id, e, CanceledInFlight)
}

// The cell of an earlier processing has another fence.
func (t *table[T]) wasCanceled(id uint32, e *entry[T]) bool {
	if t.fences == nil {
		return false
	}
	cell := t.fences.canceled.Lookup(id)
	return cell != nil && *cell == e.fence|sealed
}

// Changed reports what has happened since the hand-out.
func (s *Set[T]) Changed(h Handle) (addedAgain, canceled bool) {
	sh := s.shard(int(h.shard))
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if e := sh.claimed(h); e != nil {
		return e.phase() == dirty, sh.table.wasCanceled(h.id, e)
	}
	return false, false
}

// KeepWaits makes the set remember how long items were ready, if it keeps ages.
func (s *Set[T]) KeepWaits() { s.coarse.keepsWaits.Store(true) }

func (t *times[T]) keepWait(s *slab[T], id uint32, ready uint64) {
	if t.waits == nil {
		t.waits = &cells[uint64]{}
		s.addColumn(t.waits)
	}
	*t.waits.Extend(id) = ready
}

// Waited returns how long the item in processing was ready before, or 0.
func (s *Set[T]) Waited(h Handle) time.Duration {
	sh := s.shard(int(h.shard))
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if e := sh.claimed(h); e == nil || sh.table.times == nil || sh.table.times.waits == nil {
		return 0
	}
	ready := sh.table.times.waits.Lookup(h.id)
	if ready == nil || *ready == 0 {
		return 0 // handed out before waits were kept
	}
	return max(0, s.time.moment(sh.table.times.of(h.id)).Sub(s.time.moment(*ready)))
}

func (s *Set[T]) GroupAt(h Handle) string {
	sh := s.shard(int(h.shard))
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.claimed(h) == nil || sh.groups == nil {
		return ""
	}
	return sh.groups.names.at(sh.groupOf(h.id)).item
}
