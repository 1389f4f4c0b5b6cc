package shard

import (
	"math/bits"

	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/shard/internal/line"
)

// AddBatch adds the items as [Set.AddWith] does.
func (s *Set[T]) AddBatch(items []T, d Delay) {
	if d.Window > 0 || d.Limited {
		for _, item := range items {
			s.AddWith(item, d)
		}
		return
	}
	defer s.Core.notify() // last, because it may panic; also if hashing an item panics
	for ; len(items) > 0; items = items[min(len(items), batchSize):] {
		s.addSome(items[:min(len(items), batchSize)], &d)
	}
}

func (s *Set[T]) addSome(some []T, d *Delay) {
	p := partition{keys: items.KeysOf(some)}
	var f Deadline
	files := d.files() || d.Retry && s.Core.measures != nil
	if files {
		f = s.Core.DeadlineOf(*d) // before hashing, as a single add does
	} else {
		s.Core.refresh()
	}
	s.partition(&p, some)
	if !files {
		p.addTo(s.Core, s.Core.config.request(d.Priority))
		return
	}
	filed := uint64(never)
	// Last, because it may panic, and also if a shard has no room for another item.
	defer func() { s.Core.driver.filedIf(filed, f.at) }()
	for alone := p.fileTo(s.Core, d, &f, &filed); alone != 0; alone &= alone - 1 {
		s.AddWith(some[bits.TrailingZeros64(alone)], *d)
	}
}

// partition sorts items by their shards. It may call user code.
func (s *Set[T]) partition(p *partition, some []T) {
	p.prefetch(s.Core.items.Strings, len(some))
	if s.Core.lines.HasTags() {
		p.tags = new([batchSize]line.Tag)
	}
	for i, item := range some {
		if s.Core.items.MayDiffer && s.Reject(item) {
			continue
		}
		var sh *shard
		if p.tags == nil {
			sh, p.hashes[i] = s.locate(item)
		} else {
			sh, p.hashes[i] = s.locateTagged(item, &p.tags[i])
		}
		p.add(i, sh.number)
	}
}

func (p *partition) addTo(s *Core, r request) {
	var fx effects
	defer func() { s.publish(fx) }() // also if a shard has no room for another item
	for p.next() {
		sh := s.shard(int(p.shard))
		sh.lock()
		sh.prefetchSlots(p)
		for i, ok := p.take(); ok; i, ok = p.take() {
			to := p.address(i)
			fx |= sh.addItem(p.keys.At(i), &to, r)
		}
		sh.unlock()
	}
}

// fileTo files the delays of a batch. It writes the earliest deadline to filed, and
// returns the places of items that must be added one by one.
func (p *partition) fileTo(s *Core, delay *Delay, d *Deadline, filed *uint64) (alone uint64) {
	for p.next() {
		sh := s.shard(int(p.shard))
		sh.lock()
		files := sh.files(d)
		sh.prefetchSlots(p)
		sh.prefetchTimers(p)
		for i, ok := p.take(); ok; i, ok = p.take() {
			if !files {
				alone |= 1 << i
				continue
			}
			to, one := p.address(i), *d
			*filed = min(*filed, sh.fileTimer(p.keys.At(i), &to, &one, nil))
			sh.noteFiled(d)
		}
		sh.unlock()
	}
	if delay.Retry {
		for range bits.OnesCount64(p.placed &^ alone) {
			s.countRetry()
		}
	}
	return alone
}

func (sh *shard) files(d *Deadline) bool {
	if !d.delayed || sh.set.closing.refusing.Load() {
		return false
	}
	if sh.wheel == nil {
		sh.wheel = newWheel(d.at.now)
	}
	return d.first() > sh.wheel.Now()
}

// EndBatch ends the processings that the handles name, as [Core.End] does. It
// returns the indexes of those handles whose processing had ended before.
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
		p.add(i, h.shard)
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
		s.settle(here) // once for each shard, because a drain counts the reports
		all |= here &^ reports
	}
	s.publish(all)
	return ignored
}

// DoneBatchAt is [Core.EndBatch], which counts and reports late ends as
// misuses.
func (s *Set[T]) DoneBatchAt(items []T, handles []Handle) {
	for _, i := range s.Core.EndBatch(handles) {
		s.Misuse(items[i])
	}
}
