package shard

import (
	"sync"

	"github.com/shardq/shardq/internal/shared"
	"github.com/shardq/shardq/stats"
)

// An addHook calls a hook for adds. Those are found under a shard's lock, kept
// here in their order, and reported once the lock is released.
type addHook[T comparable] struct {
	hook func(stats.Add[T])

	mu      sync.Mutex
	found   []stats.Add[T]
	pending shared.Bool[shared.Timer]
}

// newAddHook returns nil if there is no hook.
func newAddHook[T comparable](hook func(stats.Add[T])) *addHook[T] {
	if hook == nil {
		return nil
	}
	return &addHook[T]{hook: hook}
}

// tracksAdds reports whether each add needs requestPriority: for its place, or
// for OnAdd.
func (s *Set[T]) tracksAdds() bool { return s.keepPlaces || s.adds != nil }

// keep keeps an add for report. It is called with the lock of the item's shard
// held, and takes no other lock than its own.
func (h *addHook[T]) keep(a stats.Add[T]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.found = append(h.found, a)
	h.pending.Store(true)
}

// report calls the hook for the adds that were kept. The caller holds no lock.
// If the hook panics, the next call goes on with the others.
func (h *addHook[T]) report() {
	if h == nil {
		return
	}
	for h.pending.Load() {
		if a, ok := h.next(); ok {
			h.hook(a)
		}
	}
}

func (h *addHook[T]) next() (a stats.Add[T], ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.found) == 0 {
		return a, false
	}
	a, h.found[0] = h.found[0], a // the array must not keep the item
	if h.found = h.found[1:]; len(h.found) == 0 {
		h.found = nil
		h.pending.Store(false)
	}
	return a, true
}
