package shard

import (
	"slices"

	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/stats"
)

// Left returns a row for each item that the set holds, in no order.
func (s *Core) Left() (rows []stats.Item[any]) {
	for sh := range s.shards.made() {
		sh.eachEntry(func(id uint32, _ *items.Entry) { rows = append(rows, sh.row(id)) }, func() {
			rows = slices.Grow(rows, rowsPerHold) // while no lock is held
		})
	}
	return rows
}

func (sh *shard) row(id uint32) stats.Item[any] {
	e := sh.table.At(id)
	i := sh.info(id, e)
	i.Item = sh.set.items.Any(e)
	return i
}

// info returns the row of an entry without its item: as an any, it takes
// memory.
func (sh *shard) info(id uint32, e *items.Entry) stats.Item[any] {
	i := stats.Item[any]{State: stateOf(e.Phase()), Dirty: e.Phase() == items.Dirty, Shard: int(sh.number)}
	if e.Delayed() {
		i.Deadline = sh.set.time.At(sh.due(id))
	}
	if sh.table.Requested != nil {
		i.Priority = sh.priorityOf(id, e)
	}
	i.Group = sh.line.Group(id)
	if t := sh.table.times; t != nil {
		i.Since = sh.set.time.Moment(t.of(id))
	}
	return i
}

// Lookup returns the row of an item, whose field Item is empty. held is the item as the
// set holds it, which may be 0 if item is -0.
func (s *Set[T]) Lookup(item T) (held T, row stats.Item[any], ok bool) {
	sh, hash := s.locate(item)
	sh.lock()
	defer sh.unlock()
	id := sh.find(items.KeyOf(&item), hash)
	if id == 0 {
		return held, row, false
	}
	e := sh.table.At(id)
	return *items.Of[T](e), sh.info(id, e), true
}
