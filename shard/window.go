package shard

import (
	"time"

	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/shard/internal/ticks"
)

// windows has the items that an add with a window must not add again. Most of
// them are idle, so they are not among the entries, and take no capacity. The
// shard's lock guards them. The driver removes them when their windows end.
type windows struct {
	items items.Table
	ends  *wheel // by the ids of the items
}

func (sh *shard) windows() *windows {
	if all := sh.set.windows.Load(); all != nil {
		return (*all)[sh.number]
	}
	return nil
}

func (sh *shard) setWindows(w *windows) { (*sh.set.windows.Load())[sh.number] = w }

// needWindows makes room for the windows of each shard, and takes no lock.
func (s *Core) needWindows() {
	if s.windows.Load() == nil {
		all := make([]*windows, len(s.shards.all))
		s.windows.CompareAndSwap(nil, &all)
	}
}

func (a *admission) beginWindow(t *ticks.Base, at reading, window time.Duration) {
	a.window, a.at, a.ends = window, at, t.After(at.nanoseconds, window)
}

func (sh *shard) inWindow(a *admission, key items.Key, hash uint32) bool {
	w := sh.windows()
	if w == nil || a.window <= 0 {
		return false
	}
	id, _ := w.items.Find(hash, key)
	ends, _ := w.ends.Deadline(id) // 0 if there is none
	return ends > a.at.now
}

func (sh *shard) openWindow(a *admission, key items.Key, hash uint32) {
	if a.window <= 0 || sh.set.closing.refusing.Load() {
		return
	}
	w := sh.needWindows(a)
	id, p := w.items.Find(hash, key)
	if id == 0 {
		id, _ = w.items.Insert(p, key)
	}
	sh.open(w, id, a)
}

func (sh *shard) needWindows(a *admission) *windows {
	w := sh.windows()
	if w == nil {
		w = &windows{items: items.NewTable(sh.set.items), ends: newWheel(a.at.now)}
		sh.setWindows(w)
	}
	return w
}

func (sh *shard) open(w *windows, id uint32, a *admission) {
	w.ends.Rewind(a.at.now) // if the clock was set back
	w.ends.Schedule(id, a.ends)
	w.ends.filed(a.at, sh.set.driver.count())
	if a.ends < sh.next.Load() { // what watch tells the driver
		sh.next.Store(a.ends)
	}
}

func (a *admission) watch(d *driver) {
	if a.window > 0 && a.err == nil {
		d.filed(a.ends, a.at)
	}
}

func (s *Set[T]) CloseWindow(item T) {
	if s.Core.windows.Load() == nil {
		return
	}
	sh, hash := s.locate(item)
	sh.lock()
	sh.closeWindow(items.KeyOf(&item), hash)
	sh.unlock()
}

func (sh *shard) closeWindow(key items.Key, hash uint32) {
	w := sh.windows()
	if w == nil {
		return
	}
	if id, _ := w.items.Find(hash, key); id != 0 {
		w.ends.Cancel(id)
		w.forget(id)
		sh.dropEmptyWindows(w)
	}
}

func (sh *shard) endWindows(at reading) {
	if w := sh.windows(); w != nil {
		w.ends.Advance(w.ends.safe(at), stepsPerHold, w.forget)
		sh.dropEmptyWindows(w)
	}
}

func (sh *shard) dropEmptyWindows(w *windows) {
	if w.items.Live == 0 {
		sh.setWindows(nil)
	}
}

func (w *windows) forget(id uint32) { w.items.Remove(id, w.items.At(id), items.Position{}) }
