package limiter

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A history is the record of an item that has failed, in a slot of a table. A
// slot without failures is vacant, and zero throughout: nothing refers to an
// item that was forgotten.
type history[T comparable] struct {
	item     T
	ends     instant // when it expires, if histories do
	hash     uint32  // the low half of the item's hash
	failures uint32  // at most maxFailures
}

// maxFailures is where the count of failures stops: what every int can hold.
const maxFailures = math.MaxInt32

const (
	// minSlots is the length of a table from its first use on. The length is
	// always a power of two.
	minSlots = 4
	// sweepLength is how many slots one sweep looks at.
	sweepLength = 16
)

// A stripe is a hash table with open addressing: linear probing, and a removal
// that moves later entries up instead of leaving a mark (Knuth, The Art of
// Computer Programming, volume 3, section 6.4, algorithm R). It is at most three
// quarters full, and shrinks below an eighth. It is a cache line long, lest
// neighbours slow each other down.
type stripe[T comparable] struct {
	mu sync.Mutex // guards the fields below; only this package's code runs under it

	// inUse is false only while the table is empty. It spares the lock to the
	// many calls for items without a history. Under the lock, it is set before
	// the first entry goes in, and cleared by the first call that took the lock
	// for nothing, not by the removal: else a stripe with one restless item
	// would pay for it each time. Who reads false while an entry goes in runs
	// concurrently with that entry's When, and may count as earlier.
	inUse atomic.Bool

	live  int // entries
	hand  int // where the next sweep begins; beyond the table, at its beginning
	slots []history[T]
	_     [8]byte
}

// fail counts a failure of the item and returns the curve's delay for it.
func (s *stripe[T]) fail(p *perItem[T], hash uint64, item T, now instant, random float64) time.Duration {
	s.mu.Lock()
	slot := s.claimLocked(uint32(hash), item)
	if p.idle.over(now, slot.ends) {
		slot.failures = 0
	}
	delay := p.curve(int(slot.failures), random)
	ends := p.idle.end(now, delay)
	if slot.failures == 0 || ends > slot.ends { // never cut short an earlier delay
		slot.ends = ends
	}
	slot.failures = min(slot.failures+1, maxFailures)
	s.mu.Unlock()
	return delay
}

// forget removes the item's history, if there is one.
func (s *stripe[T]) forget(hash uint64, item T) {
	if !s.inUse.Load() {
		return
	}
	s.mu.Lock()
	if i, found := s.findLocked(uint32(hash), item); found {
		s.removeLocked(i)
		s.shrinkLocked()
	} else if s.live == 0 {
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
	i, found := s.findLocked(uint32(hash), item)
	if !found || p.idle.over(now, s.slots[i].ends) {
		return 0
	}
	return int(s.slots[i].failures)
}

// sweep removes what has expired from the next few slots. It gives way to
// whoever uses the stripe; a later call will sweep.
func (s *stripe[T]) sweep(p *perItem[T], now instant) {
	if !s.mu.TryLock() {
		return
	}
	for range min(sweepLength, len(s.slots)) {
		i := s.hand & (len(s.slots) - 1)
		if s.slots[i].failures > 0 && p.idle.over(now, s.slots[i].ends) {
			s.removeLocked(i) // what moves up to i is looked at next
		} else {
			s.hand = i + 1
		}
	}
	s.shrinkLocked()
	if s.live == 0 {
		s.inUse.Store(false)
	}
	s.mu.Unlock()
}

// findLocked returns the slot that holds the item, or else the vacant slot that
// ends the search for it. A table without slots has none: the slot is then 0.
func (s *stripe[T]) findLocked(hash uint32, item T) (i int, found bool) {
	mask := len(s.slots) - 1
	for i = int(hash) & mask; i < len(s.slots); i = (i + 1) & mask {
		slot := &s.slots[i]
		if slot.failures == 0 {
			return i, false
		}
		if slot.hash == hash && slot.item == item {
			return i, true
		}
	}
	return 0, false
}

// claimLocked returns the slot of the item, a new one if it has none: the caller
// must give that a failure.
func (s *stripe[T]) claimLocked(hash uint32, item T) *history[T] {
	i, found := s.findLocked(hash, item)
	if found {
		return &s.slots[i]
	}
	if (s.live+1)*4 > len(s.slots)*3 {
		s.resizeLocked(max(minSlots, len(s.slots)*2))
		i, _ = s.findLocked(hash, item)
	}
	if !s.inUse.Load() {
		s.inUse.Store(true)
	}
	s.live++
	s.slots[i] = history[T]{item: item, hash: hash}
	return &s.slots[i]
}

// removeLocked vacates slot i, and moves up the entries that a search would no
// longer find behind the gap.
func (s *stripe[T]) removeLocked(i int) {
	mask := len(s.slots) - 1
	for j := (i + 1) & mask; s.slots[j].failures > 0; j = (j + 1) & mask {
		distance := (j - int(s.slots[j].hash)) & mask // from where its search begins
		if distance >= (j-i)&mask {
			s.slots[i] = s.slots[j]
			i = j
		}
	}
	s.slots[i] = history[T]{}
	s.live--
}

// shrinkLocked halves a table that is nearly empty.
func (s *stripe[T]) shrinkLocked() {
	if len(s.slots) > minSlots && s.live < len(s.slots)/8 {
		s.resizeLocked(len(s.slots) / 2)
	}
}

func (s *stripe[T]) resizeLocked(length int) {
	old := s.slots
	s.slots = make([]history[T], length)
	for _, entry := range old {
		if entry.failures > 0 {
			i, _ := s.findLocked(entry.hash, entry.item)
			s.slots[i] = entry
		}
	}
}
