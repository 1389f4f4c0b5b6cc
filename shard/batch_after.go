package shard

import (
	"math/bits"
	"time"
)

// AddBatchAfter adds the items as [Set.AddAfter] does, with one reading of the clock
// for each 64 of them, and the locks of [Set.AddBatch].
func (s *Set[T]) AddBatchAfter(items []T, duration time.Duration) {
	defer s.limit.Notify() // last, for it may panic; and also if an item panics
	for len(items) > 0 {
		n := min(len(items), batchSize)
		s.fileSome(items[:n], Delay{Duration: duration, Retry: true})
		items = items[n:]
	}
}

func (s *Set[T]) fileSome(items []T, delay Delay) {
	d := s.deadline(delay)
	var b deal
	s.dealAdds(&b, items)
	filed := uint64(never)
	defer func() { s.watchDeadline(filed, d) }() // also if a shard has no room for another item
	alone := uint64(0)
	for b.next() {
		sh := s.shard(int(b.shard))
		sh.mu.Lock()
		files := sh.files(d)
		for i, ok := b.take(); ok; i, ok = b.take() {
			if !files {
				alone |= 1 << i
				continue
			}
			filed = min(filed, sh.wait(items[i], b.address(i), d.at, d.f))
			sh.noteFiled(d.at, d.f)
		}
		sh.mu.Unlock()
	}
	if s.measures != nil {
		for range bits.OnesCount64(b.dealt &^ alone) {
			s.countRetry()
		}
	}
	for ; alone != 0; alone &= alone - 1 {
		i := bits.TrailingZeros64(alone)
		s.AddWith(items[i], delay)
	}
}

// files reports whether delays can be filed until a deadline as they come: none of the
// cases that AddWith has to look at apart.
func (sh *shard[T]) files(d Deadline) bool {
	if !d.f.delayed || sh.set.closing.refusing.Load() {
		return false
	}
	if sh.wheel == nil {
		sh.wheel = newWheel(d.at.now)
	}
	return d.f.first() > sh.wheel.Now()
}
