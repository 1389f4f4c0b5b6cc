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
	defer s.room.look() // last, for it may panic; and also if an item panics
	for len(items) > 0 {
		n := min(len(items), batchSize)
		s.addSome(items[:n])
		items = items[n:]
	}
}

func (s *Set[T]) addSome(items []T) {
	s.refresh()
	var d deal
	d.touched = s.touch(items)
	for i, item := range items {
		if s.mayDiffer && s.Reject(item) {
			continue
		}
		s.deal(&d, i, item)
	}
	queued, inVain := false, false
	for d.next() {
		sh := &s.shards[d.shard]
		sh.mu.Lock()
		for i, ok := d.take(); ok; i, ok = d.take() {
			outcome := sh.addLocked(items[i], d.hashes[i], s.cancelDelayOnAdd)
			queued = queued || outcome == enqueue
			inVain = inVain || sh.inVain(outcome)
		}
		sh.mu.Unlock()
	}
	switch {
	case queued:
		s.wake()
	case inVain:
		s.yield()
	}
}

// DoneBatch ends the processing of the items as [Set.Done] does, with the locks and
// wake-ups of [Set.AddBatch].
func (s *Set[T]) DoneBatch(items []T) {
	var misused []T
	defer s.room.look() // as in AddBatch
	for len(items) > 0 {
		n := min(len(items), batchSize)
		misused = append(misused, s.doneSome(items[:n])...)
		items = items[n:]
	}
	for _, item := range misused {
		s.report(DoneWithoutGet, item)
	}
}

// doneSome returns the items that were not in processing.
func (s *Set[T]) doneSome(items []T) (misused []T) {
	s.refresh()
	var d deal
	d.touched = s.touch(items)
	for i, item := range items {
		s.deal(&d, i, item)
	}
	queued, ignored := false, uint64(0)
	for d.next() {
		sh := &s.shards[d.shard]
		quiet := false
		sh.mu.Lock()
		for i, ok := d.take(); ok; i, ok = d.take() {
			outcome := sh.doneLocked(items[i], d.hashes[i])
			queued = queued || outcome.effect == enqueue
			quiet = quiet || outcome.quiet
			if outcome.effect == ignore {
				ignored |= 1 << i
			}
		}
		sh.mu.Unlock()
		if quiet {
			s.drained.settle()
		}
	}
	if queued {
		s.wake()
	}
	for ; ignored != 0; ignored &= ignored - 1 {
		misused = append(misused, items[bits.TrailingZeros64(ignored)])
	}
	return misused
}

// GetBatch is [Set.GetContext] for as many items as dst has room for: it waits until
// there is one, takes what is there then, and returns how many that was. They come in
// the order in which as many Gets would return them. If dst has no room, it returns 0 at
// once.
func (s *Set[T]) GetBatch(ctx context.Context, dst []T) (n int, err error) {
	if err := ctx.Err(); err != nil || len(dst) == 0 {
		return 0, err
	}
	if n = s.takeSome(dst); n > 0 {
		return n, nil
	}
	return s.awaitContext(ctx, dst)
}

// takeSome hands out what is ready, at most as much as dst has room for.
func (s *Set[T]) takeSome(dst []T) (n int) {
	s.refresh()
	defer s.setWatchdog()
	if len(s.shards) == 1 {
		return s.shards[0].takeAll(dst)
	}
	lane := s.lane()
	for n < len(dst) {
		sh := s.lockReady(lane.turn.Load())
		if sh == nil {
			break
		}
		turn := min(len(dst)-n, quantum-int(sh.served%quantum))
		got := sh.takeSomeLocked(dst[n : n+turn])
		ends := sh.served%quantum == 0
		sh.mu.Unlock()
		if ends {
			lane.turn.Store((uint32(sh.number) + 1) % uint32(len(s.shards)))
		}
		n += got
	}
	return n
}

// takeAll is takeSome where there is one shard.
func (sh *shard[T]) takeAll(dst []T) (n int) {
	for n < len(dst) {
		sh.mu.Lock()
		got := sh.takeSomeLocked(dst[n:min(n+batchSize, len(dst))])
		sh.mu.Unlock()
		if n += got; got < batchSize {
			break
		}
	}
	return n
}

func (sh *shard[T]) takeSomeLocked(dst []T) (n int) {
	for ; n < len(dst); n++ {
		item, ok := sh.takeLocked()
		if !ok {
			break
		}
		dst[n] = item
	}
	sh.served += uint16(n)
	return n
}
