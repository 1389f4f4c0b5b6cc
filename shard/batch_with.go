package shard

import "math/bits"

// AddBatchWith adds the items as [Set.AddWith] does. For each 64 items it reads
// the clock once, and takes the locks of [Set.AddBatch]. With a window it adds
// them one by one.
func (s *Set[T]) AddBatchWith(items []T, d Delay) {
	switch {
	case d.Window > 0:
		for _, item := range items {
			s.AddWith(item, d)
		}
	case d.Duration <= 0 && d.Policy == KeepEarliest && !(d.Retry && s.measures != nil):
		r := s.request()
		r.priority = d.Priority
		s.addBatch(items, r)
	default:
		s.fileBatch(items, d)
	}
}

// fileBatch is AddBatchWith with a delay or a policy.
func (s *Set[T]) fileBatch(items []T, d Delay) {
	defer s.notify() // last, because it may panic; also if hashing an item panics
	for len(items) > 0 {
		n := min(len(items), batchSize)
		s.fileSome(items[:n], d)
		items = items[n:]
	}
}

func (s *Set[T]) fileSome(items []T, delay Delay) {
	d := s.DeadlineOf(delay)
	var p partition
	s.partitionAdds(&p, items)
	filed := uint64(never)
	defer func() { s.watchDeadline(filed, d) }() // also if a shard has no room for another item
	alone := uint64(0)
	for p.next() {
		sh := s.shard(int(p.shard))
		sh.mu.Lock()
		files := sh.files(d)
		for i, ok := p.take(); ok; i, ok = p.take() {
			if !files {
				alone |= 1 << i
				continue
			}
			filed = min(filed, sh.fileTimer(items[i], p.address(i), d.at, d.f, nil))
			sh.noteFiled(d.at, d.f)
		}
		sh.mu.Unlock()
	}
	if s.measures != nil && delay.Retry {
		for range bits.OnesCount64(p.placed &^ alone) {
			s.countRetry()
		}
	}
	for ; alone != 0; alone &= alone - 1 {
		i := bits.TrailingZeros64(alone)
		s.AddWith(items[i], delay)
	}
}

// files reports whether delays can be filed until the deadline, with none of
// the special cases of AddWith.
func (sh *shard[T]) files(d Deadline) bool {
	if !d.f.delayed || sh.set.closing.refusing.Load() {
		return false
	}
	if sh.wheel == nil {
		sh.wheel = newWheel(d.at.now)
	}
	return d.f.first() > sh.wheel.Now()
}
