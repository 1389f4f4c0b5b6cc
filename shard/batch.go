package shard

import (
	"math/bits"

	"github.com/shardq/shardq/shard/internal/line"
)

func (s *Set[T]) addSome(items []T, r request) {
	s.Core.refresh()
	var p partition
	s.partitionAdds(&p, items)
	var fx effects
	defer func() { s.Core.publish(fx) }() // also if a shard has no room for another item
	for p.next() {
		sh := s.Core.shard(int(p.shard))
		sh.lock()
		sh.prefetchSlots(&p)
		for i, ok := p.take(); ok; i, ok = p.take() {
			to := p.address(i)
			fx |= s.addItem(sh, items[i], &to, r)
		}
		sh.unlock()
	}
}

func (s *Set[T]) partitionAdds(p *partition, items []T) {
	p.prefetched = s.prefetch(items)
	if s.Core.lines.HasTags() {
		p.tags = new([batchSize]line.Tag)
	}
	for i, item := range items {
		if s.mayDiffer && s.Reject(item) {
			continue
		}
		s.assign(p, i, item)
	}
}

// EndBatch is [Set.End] of each handle. It returns the indexes of the late.
func (s *Core) EndBatch(handles []Handle) (late []int) {
	s.refreshOr(func() { s.endAll(handles) })
	return s.endAll(handles)
}

func (s *Core) endAll(handles []Handle) (late []int) {
	defer s.notify() // last, because it may panic
	for first := 0; first < len(handles); first += batchSize {
		ignored := s.endSome(handles[first:min(first+batchSize, len(handles))])
		for ; ignored != 0; ignored &= ignored - 1 {
			late = append(late, first+bits.TrailingZeros64(ignored))
		}
	}
	return late
}

func (s *Core) endSome(handles []Handle) (ignored uint64) {
	var p partition
	for i, h := range handles {
		p.add(i, 0, h.shard)
	}
	var all effects
	for p.next() {
		sh := s.shard(int(p.shard))
		var here effects
		sh.lock()
		sh.prefetchClaimed(&p, handles)
		for i, ok := p.take(); ok; i, ok = p.take() {
			fx := sh.endClaimed(handles[i])
			if here |= fx; fx&took == 0 {
				ignored |= 1 << i
			}
		}
		sh.unlock()
		s.settle(here) // for each shard: the drain counts them
		all |= here &^ reports
	}
	s.publish(all)
	return ignored
}

// DoneBatchAt is [Set.EndBatch] that counts and reports misuses.
func (s *Set[T]) DoneBatchAt(items []T, handles []Handle) {
	for _, i := range s.Core.EndBatch(handles) {
		s.Misuse(items[i])
	}
}

// AddBatch adds the items as [Set.AddWith] does.
func (s *Set[T]) AddBatch(items []T, d Delay) {
	if d.Window > 0 {
		for _, item := range items {
			s.AddWith(item, d)
		}
		return
	}
	r := s.Core.config.request(d.Priority)
	files := d.files() || d.Retry && s.Core.measures != nil
	defer s.Core.notify() // last, because it may panic; also if hashing an item panics
	for ; len(items) > 0; items = items[min(len(items), batchSize):] {
		if some := items[:min(len(items), batchSize)]; files {
			s.fileSome(some, d)
		} else {
			s.addSome(some, r)
		}
	}
}

func (s *Set[T]) fileSome(items []T, delay Delay) {
	d := s.Core.DeadlineOf(delay)
	var p partition
	s.partitionAdds(&p, items)
	filed := uint64(never)
	defer func() { s.Core.watchDeadline(filed, d) }() // also if a shard has no room for another item
	alone := uint64(0)
	for p.next() {
		sh := s.Core.shard(int(p.shard))
		sh.lock()
		files := sh.files(d)
		for i, ok := p.take(); ok; i, ok = p.take() {
			if !files {
				alone |= 1 << i
				continue
			}
			to, one := p.address(i), d
			filed = min(filed, s.fileTimer(sh, items[i], &to, &one, nil))
			sh.noteFiled(&d)
		}
		sh.unlock()
	}
	if s.Core.measures != nil && delay.Retry {
		for range bits.OnesCount64(p.placed &^ alone) {
			s.Core.countRetry()
		}
	}
	for ; alone != 0; alone &= alone - 1 {
		i := bits.TrailingZeros64(alone)
		s.AddWith(items[i], delay)
	}
}

func (sh *shard) files(d Deadline) bool {
	if !d.delayed || sh.set.closing.refusing.Load() {
		return false
	}
	if sh.wheel == nil {
		sh.wheel = newWheel(d.at.now)
	}
	return d.first() > sh.wheel.Now()
}
