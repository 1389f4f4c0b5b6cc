package shard

import (
	"slices"

	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/stats"
)

// Left returns all that the set holds, each item once, in no order.
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
	i := stats.Item[any]{
		Item: sh.set.items.Any(e), State: stateOf(e.Phase()), Dirty: e.Phase() == items.Dirty, Shard: int(sh.number),
	}
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

// Lookup returns the row of an item, as the set holds it: 0 is equal to -0.
func (s *Set[T]) Lookup(item T) (row stats.Item[any], ok bool) {
	sh, hash := s.locate(item)
	return sh.lookup(items.KeyOf(&item), hash)
}

func (sh *shard) lookup(key items.Key, hash uint32) (row stats.Item[any], ok bool) {
	sh.lock()
	defer sh.unlock()
	if id := sh.find(key, hash); id != 0 {
		return sh.row(id), true
	}
	return row, false
}
