package limiter

import (
	"sync"
	"sync/atomic"
	"time"
)

// sweepLength is the number of table slots that one sweep examines.
const sweepLength = 16

// A stripe holds the histories of the items whose hashes share their top bits.
// For strings it is one cache line, including the first history. While there
// are fewer histories than stripes, most calls touch no other line that another
// processor writes.
type stripe[T comparable] struct {
	mu sync.Mutex // guards the fields below; no user code runs under it

	// inUse is false only while there are no histories. It spares the lock to
	// the many calls for items without one. Under the lock, it is set before
	// the first history goes in. It is cleared by the first call that took the
	// lock in vain. The removal does not clear it, because a stripe with one
	// restless item would then pay each time. A caller that reads false while a
	// history goes in runs concurrently with that history's When, and may count
	// as earlier.
	inUse atomic.Bool

	first history[T]
	rest  *table[T] // nil until there are two histories at once
	_     [8]byte
}

// fail counts a failure of the item and returns the curve's delay for it.
func (s *stripe[T]) fail(p *perItem[T], hash uint64, item T, now instant, random float64) time.Duration {
	s.mu.Lock()
	h := s.claimLocked(uint32(hash), item)
	if p.idle.over(now, h.ends) {
		h.failures = 0
	}
	delay := p.curve(int(h.failures), random)
	ends := p.idle.end(now, delay)
	if h.vacant() || ends > h.ends { // never shorten an earlier delay
		h.ends = ends
	}
	h.failures = min(h.failures+1, maxFailures)
	s.mu.Unlock()
	return delay
}

// forget removes the item's history, if there is one.
func (s *stripe[T]) forget(hash uint64, item T) {
	if !s.inUse.Load() {
		return
	}
	s.mu.Lock()
	if s.first.is(uint32(hash), item) {
		s.first = history[T]{}
	} else if !s.rest.remove(uint32(hash), item) && s.emptyLocked() {
		s.inUse.Store(false)
	}
	s.mu.Unlock()
}

// failures returns the number of the item's failures.
func (s *stripe[T]) failures(p *perItem[T], hash uint64, item T, now instant) int {
	if !s.inUse.Load() {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.findLocked(uint32(hash), item)
	if h == nil || p.idle.over(now, h.ends) {
		return 0
	}
	return int(h.failures)
}

// sweep removes a few expired histories, if any. If another goroutine holds the
// lock, it does nothing, because a later call sweeps.
func (s *stripe[T]) sweep(idle *idleness, now instant) {
	if !s.mu.TryLock() {
		return
	}
	if idle.over(now, s.first.ends) {
		s.first = history[T]{}
	}
	s.rest.sweep(sweepLength, idle, now)
	if s.emptyLocked() {
		s.inUse.Store(false)
	}
	s.mu.Unlock()
}

func (s *stripe[T]) emptyLocked() bool { return s.first.vacant() && s.rest.empty() }

// findLocked returns the item's history, or nil.
func (s *stripe[T]) findLocked(hash uint32, item T) *history[T] {
	if s.first.is(hash, item) {
		return &s.first
	}
	return s.rest.find(hash, item)
}

// claimLocked returns the item's history, a new one if it has none. The caller
// must count a failure in it, because a history without failures is vacant.
func (s *stripe[T]) claimLocked(hash uint32, item T) *history[T] {
	h := s.findLocked(hash, item)
	if h != nil {
		return h
	}
	if !s.inUse.Load() {
		s.inUse.Store(true)
	}
	if h = &s.first; !h.vacant() {
		h = s.addToRestLocked(hash, item)
	}
	h.item, h.hash = item, hash
	return h
}

func (s *stripe[T]) addToRestLocked(hash uint32, item T) *history[T] {
	if s.rest == nil {
		s.rest = newTable[T]()
	}
	return s.rest.add(hash, item)
}
