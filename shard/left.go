package shard

import "github.com/shardq/shardq/internal/chunked"

// Left returns all that the set holds, each item once: in the state in which it was
// found, in no order. It holds a shard's lock for stepsPerHold entries at a time. An
// item that comes meanwhile may be left out.
func (s *Set[T]) Left() (rows []Info[T]) {
	var some []Info[T]
	for i := range s.shards {
		for at, more := uint32(1), true; more; {
			some, at, more = s.shards[i].leftFrom(some[:0], at)
			rows = append(rows, some...) // with no lock held, for it may have to copy them all
		}
	}
	return rows
}

// leftFrom looks at some of the entries from an id on, and returns the id where to
// go on, if there is more. Ids are in use from 1 on. Nothing moves an entry.
func (sh *shard[T]) leftFrom(rows []Info[T], id uint32) (_ []Info[T], next uint32, more bool) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for range stepsPerHold {
		if sh.table == nil {
			return rows, 0, false
		}
		c := id / chunked.ChunkCells
		switch {
		case int(c) >= len(sh.table.spaces):
			return rows, 0, false
		case id%chunked.ChunkCells >= uint32(sh.table.spaces[c].used):
			id = (c + 1) * chunked.ChunkCells
			continue
		}
		if e := sh.table.at(id); e.phase() != idle || e.waiting() {
			rows = append(rows, sh.info(id))
		}
		id++
	}
	return rows, id, true
}
