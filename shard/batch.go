package shard

import (
	"context"
	"math/bits"
)

// batchSize is how many items of a batch are dealt with together: a longer batch is
// several. It bounds how long a shard's lock is held for one call.
const batchSize = 64

// AddBatch adds the items as [Set.Add] does, in their order within each shard. For
// each 64 of them it takes the lock of each shard that they belong to once, and wakes
// one consumer at most.
func (s *Set[T]) AddBatch(items []T) {
	defer s.limit.Notify() // last, for it may panic; and also if an item panics
	for len(items) > 0 {
		n := min(len(items), batchSize)
		s.addSome(items[:n])
		items = items[n:]
	}
}

func (s *Set[T]) addSome(items []T) {
	s.refresh()
	var d deal
	s.dealAdds(&d, items)
	var fx effects
	defer func() { s.publish(fx) }() // also if a shard has no room for another item
	for d.next() {
		sh := s.shard(int(d.shard))
		sh.mu.Lock()
		sh.touchSlots(&d, false)
		for i, ok := d.take(); ok; i, ok = d.take() {
			to := d.address(i)
			fx |= sh.addItem(items[i], &to, s.request())
		}
		sh.mu.Unlock()
	}
}

// dealAdds sorts items that are to be added by their shards. It leaves out those that are
// rejected.
func (s *Set[T]) dealAdds(d *deal, items []T) {
	d.touched = s.touch(items)
	if s.group != nil {
		d.tags = new([batchSize]tag)
	}
	for i, item := range items {
		if s.mayDiffer && s.Reject(item) {
			continue
		}
		s.deal(d, i, item)
	}
}

// DoneBatch ends the processing of the items as [Set.Done] does, with the locks and
// wake-ups of [Set.AddBatch].
func (s *Set[T]) DoneBatch(items []T) {
	var misused []T
	defer s.reportAll(&misused)
	defer s.limit.Notify() // as in AddBatch
	for len(items) > 0 {
		n := min(len(items), batchSize)
		misused = append(misused, s.doneSome(items[:n])...)
		items = items[n:]
	}
}

// reportAll reports Dones of items that were not in processing.
func (s *Set[T]) reportAll(misused *[]T) {
	for _, item := range *misused {
		s.report(DoneWithoutGet, item)
	}
}

// doneSome returns the items that were not in processing.
func (s *Set[T]) doneSome(items []T) (misused []T) {
	var d deal
	d.touched = s.touch(items)
	for i, item := range items {
		s.deal(&d, i, item)
	}
	defer func() { misused = s.doneDealt(items, &d) }() // also if the clock panics
	s.refreshForWork()
	return nil
}

// EndBatch is [Set.End] of each of the handles, with the locks and wake-ups of
// [Set.AddBatch]. It returns the places of those whose processing had ended already.
func (s *Set[T]) EndBatch(handles []Handle) (late []int) {
	defer func() { late = s.endAll(handles) }() // also if the clock panics
	s.refreshForWork()
	return late
}

func (s *Set[T]) endAll(handles []Handle) (late []int) {
	defer s.limit.Notify() // last, for it may panic
	for first := 0; first < len(handles); first += batchSize {
		some := handles[first:min(first+batchSize, len(handles))]
		var d deal
		for i, h := range some {
			d.add(i, 0, h.shard)
		}
		ignored := s.finishDealt(&d,
			func(sh *shard[T]) { sh.touchClaimed(&d, some) },
			func(sh *shard[T], i int) effects { return sh.endClaimed(some[i]) })
		for ; ignored != 0; ignored &= ignored - 1 {
			late = append(late, first+bits.TrailingZeros64(ignored))
		}
	}
	return late
}

// DoneBatchAt is [Set.EndBatch] that counts and reports misuses.
func (s *Set[T]) DoneBatchAt(items []T, handles []Handle) {
	for _, i := range s.EndBatch(handles) {
		s.misuse(items[i], handles[i])
	}
}

// doneDealt ends the processing of items that were dealt.
func (s *Set[T]) doneDealt(items []T, d *deal) (misused []T) {
	ignored := s.finishDealt(d,
		func(sh *shard[T]) { sh.touchSlots(d, true) },
		func(sh *shard[T], i int) effects { return sh.endItem(items[i], d.hashes[i]) })
	for ; ignored != 0; ignored &= ignored - 1 {
		misused = append(misused, items[bits.TrailingZeros64(ignored)])
	}
	return misused
}

// finishDealt calls finish for each place of a batch, with the lock of its shard held, and
// returns a set of those in which there was nothing to end.
func (s *Set[T]) finishDealt(
	d *deal, touch func(sh *shard[T]), finish func(sh *shard[T], i int) effects,
) (ignored uint64) {
	var all effects
	for d.next() {
		sh := s.shard(int(d.shard))
		var here effects
		sh.mu.Lock()
		touch(sh)
		for i, ok := d.take(); ok; i, ok = d.take() {
			fx := finish(sh, i)
			if here |= fx; fx&took == 0 {
				ignored |= 1 << i
			}
		}
		sh.mu.Unlock()
		s.settle(here) // for each shard: the drain counts them
		all |= here &^ reports
	}
	s.publish(all)
	return ignored
}

// GetBatch is [Set.GetContext] for as many items as dst has room for: it waits until
// there is one, takes what is there then, and returns how many that was. They come in
// the order in which as many Gets would return them. If dst has no room, it returns 0 at
// once.
func (s *Set[T]) GetBatch(ctx context.Context, dst []T) (n int, err error) {
	return s.getSome(ctx, hand[T]{items: dst})
}

func (s *Set[T]) getSome(ctx context.Context, h hand[T]) (n int, err error) {
	if err := ctx.Err(); err != nil || len(h.items) == 0 {
		return 0, err
	}
	if n = s.takeSome(h); n > 0 {
		return n, nil
	}
	return s.awaitContext(ctx, h)
}

// A hand is where a consumer wants to have what is handed out.
type hand[T comparable] struct {
	items []T
	// priorities and handles get those of the items, unless they are nil.
	priorities []int
	handles    []Handle
}

// part returns the cells n to m-1.
func (h hand[T]) part(n, m int) hand[T] {
	h.items = h.items[n:m]
	if h.priorities != nil {
		h.priorities = h.priorities[n:m]
	}
	if h.handles != nil {
		h.handles = h.handles[n:m]
	}
	return h
}

// takeSome hands out what is ready, at most as much as there is room for.
func (s *Set[T]) takeSome(h hand[T]) (n int) {
	s.refreshForWork()
	defer s.setWatchdog()
	return s.takeHere(h)
}

// takeHere is takeSome without a look at the clock.
func (s *Set[T]) takeHere(h hand[T]) (n int) {
	if s.urgency.Load() != nil || s.group != nil {
		return s.takeOneByOne(h)
	}
	if len(s.shards) == 1 {
		return s.shard(0).takeAll(h)
	}
	lane := s.lane()
	for n < len(h.items) {
		sh := s.lockReady(lane.turn.Load())
		if sh == nil {
			break
		}
		turn := min(len(h.items)-n, quantum-int(sh.served%quantum))
		got := sh.takeUpTo(h.part(n, n+turn))
		ends := sh.served%quantum == 0
		sh.mu.Unlock()
		if ends {
			lane.turn.Store((uint32(sh.number) + 1) % uint32(len(s.shards)))
		}
		n += got
	}
	return n
}

// takeOneByOne is takeSome where there are priorities or groups: to every item
// its own look. The clock, which may panic, was read before the first: no item is
// out of the queue then.
func (s *Set[T]) takeOneByOne(h hand[T]) (n int) {
	for ; n < len(h.items); n++ {
		item, priority, handle, ok := s.takeNow()
		if !ok {
			break
		}
		h.put(n, item, priority, handle)
	}
	return n
}

func (h hand[T]) put(n int, item T, priority int, handle Handle) {
	h.items[n] = item
	if h.priorities != nil {
		h.priorities[n] = priority
	}
	if h.handles != nil {
		h.handles[n] = handle
	}
}

// takeAll is takeSome where there is one shard. It takes the lock.
func (sh *shard[T]) takeAll(h hand[T]) (n int) {
	for n < len(h.items) {
		sh.mu.Lock()
		got := sh.takeUpTo(h.part(n, min(n+batchSize, len(h.items))))
		sh.mu.Unlock()
		if n += got; got < batchSize {
			break
		}
	}
	return n
}

// takeUpTo takes what is ready, at most as much as there is room for.
func (sh *shard[T]) takeUpTo(h hand[T]) (n int) {
	for ; n < len(h.items); n++ {
		item, priority, handle, ok := sh.take(&sh.ready, false)
		if !ok {
			break
		}
		h.put(n, item, priority, handle)
	}
	sh.served += uint16(n)
	return n
}
