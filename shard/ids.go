package shard

import "fmt"

// MaxItems is the greatest number of items that a shard holds, whatever their state:
// a link between two has 29 bits. An add beyond that changes nothing.
const MaxItems = maxIDs - 1

// errTooMany is what an add of one item more panics with, or returns.
var errTooMany = fmt.Errorf("%w: its shard holds %d items", ErrFull, MaxItems)

// hasID reports whether there is an id for a new entry. It is called where the slab
// is about to open a chunk.
func (sh *shard[T]) hasID() bool {
	ids := sh.set.ids
	if sh.table.firstOf(int32(len(sh.table.spaces)+1)) > ids-reserve(ids) {
		sh.set.crowded.Store(true)
	}
	return !sh.table.exhausted(ids)
}

// reserve returns how many of the ids are for adds that Crowded has let pass: more
// than there are goroutines on their way between the two.
func reserve(ids uint32) uint32 { return ids >> 9 }

// Crowded returns an error if the item's shard holds about as many items as it can,
// so that an add of one that is not held may be refused. It is for a caller that
// would have to undo something then. It may call the user's functions.
func (s *Set[T]) Crowded(item T) error {
	if !s.crowded.Load() {
		return nil
	}
	sh, _ := s.addressOf(item)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.table != nil && uint32(sh.table.live) >= s.ids-reserve(s.ids)-1 {
		return errTooMany
	}
	return nil
}
