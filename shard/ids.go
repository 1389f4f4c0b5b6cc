package shard

import "fmt"

// MaxItems is the greatest number of items that a shard holds, in any state.
const MaxItems = maxIDs - 1

var errTooMany = fmt.Errorf("%w: its shard holds %d items", ErrFull, MaxItems)

// hasID reports whether there is an id for a new entry. The slab is about to
// open a chunk.
func (sh *shard[T]) hasID() bool {
	ids := sh.set.ids
	if sh.table.firstOf(int32(len(sh.table.spaces)+1)) > ids-reserve(ids) {
		sh.set.crowded.Store(true)
	}
	return !sh.table.exhausted(ids)
}

// reserve returns the number of ids for adds that Crowded has allowed: more
// than there are goroutines between Crowded and their add.
func reserve(ids uint32) uint32 { return ids >> 9 }

// Crowded returns an error if an add of another item to the item's shard may be
// refused for want of ids. It may call the user's functions.
func (s *Set[T]) Crowded(item T) error {
	if !s.crowded.Load() {
		return nil
	}
	var to address
	sh := s.addressOf(item, &to)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.table != nil && uint32(sh.table.live) >= s.ids-reserve(s.ids)-1 {
		return errTooMany
	}
	return nil
}
