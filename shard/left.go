package shard

import "github.com/shardq/shardq/stats"

// Left returns all that the set holds, each item once, in the state in which
// Left found it. The items are in no order. Left takes a shard's lock for
// rowsPerHold entries at a time. It may leave out an item that is added
// meanwhile.
func (s *Set[T]) Left() (rows []stats.Item[T]) {
	var some []stats.Item[T]
	for sh := range s.made() {
		s.eachEntry(sh, func(id uint32, _ *entry[T]) { some = append(some, sh.info(id)) }, func() (on bool) {
			rows = append(rows, some...) // with no lock held, because it may copy all rows
			some = some[:0]
			return true
		})
	}
	return rows
}
