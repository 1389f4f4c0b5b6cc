package shard

import (
	"errors"
	"time"
)

// ErrNotAgain is the error of an add whose item was added within its window.
var ErrNotAgain = errors.New("shardq: item was added within its window")

// windows are the items that an add with a window must not add again. Most are
// idle, so they are apart from the entries, and need no capacity. The shard's
// lock guards them. The driver forgets them when they end.
type windows[T comparable] struct {
	ids   map[T]uint32
	items []T // by id
	free  []uint32
	ends  *wheel // by id
}

func (sh *shard[T]) windows() *windows[T] {
	if all := sh.set.windows.Load(); all != nil {
		return (*all)[sh.number]
	}
	return nil
}

func (sh *shard[T]) setWindows(w *windows[T]) { (*sh.set.windows.Load())[sh.number] = w }

// needWindows takes no lock.
func (s *Set[T]) needWindows() {
	if s.windows.Load() == nil {
		all := make([]*windows[T], len(s.shards))
		s.windows.CompareAndSwap(nil, &all)
	}
}

func (a *admission) beginWindow(t *timebase, at reading, window time.Duration) {
	a.window, a.at, a.ends = window, at, t.after(at.nanoseconds, window)
}

func (sh *shard[T]) inWindow(a *admission, item T) bool {
	w := sh.windows()
	if w == nil || a.window <= 0 {
		return false
	}
	ends, _ := w.ends.Deadline(w.ids[item]) // 0 if there is none
	return ends > a.at.now
}

func (sh *shard[T]) openWindow(a *admission, item T) {
	if a.window <= 0 || sh.set.closing.refusing.Load() {
		return
	}
	w := sh.windows()
	if w == nil {
		w = &windows[T]{ids: map[T]uint32{}, items: make([]T, 1), ends: newWheel(a.at.now)}
		sh.setWindows(w)
	}
	w.ends.Rewind(a.at.now) // if the clock was set back
	w.ends.Schedule(w.idOf(item), a.ends)
	w.ends.filed(a.at, sh.set.driver.count())
	if a.ends < sh.next.Load() { // what watchWindow tells the driver
		sh.next.Store(a.ends)
	}
}

func (s *Set[T]) watchWindow(a *admission) {
	if a != nil && a.window > 0 && a.err == nil {
		s.driver.filed(a.ends, a.at)
	}
}

func (sh *shard[T]) closeWindow(item T) {
	w := sh.windows()
	if w == nil {
		return
	}
	if id := w.ids[item]; id != 0 {
		w.ends.Cancel(id)
		w.forget(id)
		sh.dropEmptyWindows(w)
	}
}

func (sh *shard[T]) endWindows(at reading) {
	if w := sh.windows(); w != nil {
		w.ends.Advance(w.ends.safe(at), stepsPerHold, w.forget)
		sh.dropEmptyWindows(w)
	}
}

func (sh *shard[T]) dropWindows() {
	if sh.windows() != nil {
		sh.setWindows(nil)
	}
}

func (sh *shard[T]) dropEmptyWindows(w *windows[T]) {
	if len(w.ids) == 0 {
		sh.setWindows(nil)
	}
}

func (w *windows[T]) idOf(item T) uint32 {
	id := w.ids[item]
	if id != 0 {
		return id
	}
	if last := len(w.free) - 1; last >= 0 {
		id, w.free = w.free[last], w.free[:last]
		w.items[id] = item
	} else {
		id = uint32(len(w.items))
		w.items = append(w.items, item)
	}
	w.ids[item] = id
	return id
}

func (w *windows[T]) forget(id uint32) {
	var none T
	delete(w.ids, w.items[id])
	w.items[id] = none
	w.free = append(w.free, id)
}
