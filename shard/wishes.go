package shard

import "github.com/shardq/shardq/internal/chunked"

// What priority an item is to have is a wish of those who add it: the greatest counts, and
// is granted by the run that serves them. It is kept in columns of their own, by entry, that
// have memory where a wish is not 0.

// run returns the priority of the run to come, of an entry that is ready or dirty. Of
// others it says nothing.
func (s *slab[T]) run(id uint32) int {
	if cell := s.runs.Lookup(id); cell != nil {
		return *cell
	}
	return 0
}

func (s *slab[T]) setRun(id uint32, priority int) {
	if cell := s.runs.Lookup(id); cell != nil {
		*cell = priority
	} else if priority != 0 {
		*s.runs.Extend(id) = priority
	}
}

// waits has the priorities of what items wait for, where they are not 0.
type waitWishes struct{ cells chunked.Array[int] }

func (w *waitWishes) of(id uint32) int {
	if cell := w.cells.Lookup(id); cell != nil {
		return *cell
	}
	return 0
}

func (w *waitWishes) set(id uint32, priority int) {
	switch before := w.of(id); {
	case before == 0 && priority != 0:
		*w.cells.Hold(id) = priority
	case before != 0:
		*w.cells.At(id) = priority
		if priority == 0 {
			w.cells.Release(id)
		}
	}
}

// priorityOf returns what is wished for an item.
func (sh *shard[T]) priorityOf(id uint32, e *entry[T]) int {
	switch e.phase() {
	case idle:
		return sh.levels.waits.of(id)
	case processing:
		return 0
	}
	return sh.table.run(id)
}
