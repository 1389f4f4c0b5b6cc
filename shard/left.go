package shard

// Left returns all that the set holds, each item once: in the state in which it was
// found, in no order. It takes a shard's lock for rowsPerHold entries at a time. An
// item that comes meanwhile may be left out.
func (s *Set[T]) Left() (rows []Info[T]) {
	var some []Info[T]
	for sh := range s.made() {
		sh.eachEntry(func(id uint32, _ *entry[T]) { some = append(some, sh.info(id)) }, func() (on bool) {
			rows = append(rows, some...) // with no lock held, because it may have to copy them all
			some = some[:0]
			return true
		})
	}
	return rows
}
