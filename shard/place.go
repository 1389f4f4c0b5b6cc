package shard

import "context"

// A Place is where a Set has an item that it has handed out. With it, the
// processing can be ended, or one more run be asked for, without any code of the
// user's that might panic: neither Hash nor Group is called.
type Place uint16 // the number of the shard

// GetContextAt is [Set.GetContext] that also returns the priority with which the
// item was ready, and its place.
func (s *Set[T]) GetContextAt(ctx context.Context) (item T, priority int, at Place, err error) {
	if err := ctx.Err(); err != nil {
		return item, 0, 0, err
	}
	if item, priority, at, ok := s.take(); ok {
		s.setWatchdog()
		return item, priority, at, nil
	}
	var one [1]T
	var its [1]int
	var where [1]Place
	_, err = s.awaitContext(ctx, hand[T]{one[:], its[:], where[:]})
	return one[0], its[0], where[0], err
}

// GetBatchAt is [Set.GetBatch] that also returns the priorities with which the
// items were ready, and their places, each in a slice that has as much room as dst,
// or is nil.
func (s *Set[T]) GetBatchAt(ctx context.Context, dst []T, priorities []int, places []Place) (n int, err error) {
	return s.getSome(ctx, hand[T]{dst, priorities, places})
}

// DoneAt is [Set.Done] of an item that was handed out at a place. If the clock or a
// hook panics, the item is Done all the same.
func (s *Set[T]) DoneAt(item T, at Place) {
	s.doneNow(&s.shards[at], item, uint32(s.hash(item)))
}

// DoneBatchAt is [Set.DoneAt] of each of the items, with the locks and wake-ups of
// [Set.DoneBatch].
func (s *Set[T]) DoneBatchAt(items []T, places []Place) {
	defer s.doneAllAt(items, places)
	s.refreshForWork()
}

func (s *Set[T]) doneAllAt(items []T, places []Place) {
	var misused []T
	defer s.reportAll(&misused)
	defer s.room.Look()
	for len(items) > 0 {
		n := min(len(items), batchSize)
		var d deal
		d.touched = s.touch(items[:n])
		for i, item := range items[:n] {
			d.add(i, s.hash(item), uint16(places[i]))
		}
		misused = append(misused, s.doneDealt(items[:n], &d)...)
		items, places = items[n:], places[n:]
	}
}

// AgainAt asks for one more run of an item that is in processing at a place, and
// reports whether it is. Unlike an Add it does so also after a shutdown began: the
// item's Done is owed, so drains wait for it, and somebody is there to take what
// that makes ready. It calls no user code.
func (s *Set[T]) AgainAt(item T, at Place) (inProcessing bool) {
	return s.again(&s.shards[at], item, uint32(s.hash(item)))
}
