package shard

import (
	"iter"
	"math"

	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/stats"
)

// rows are what inspections read.
type rows []stats.Item[any]

func (r *rows) read(sh *shard, id uint32, row int) {
	if row == len(*r) {
		*r = append(*r, stats.Item[any]{})
	}
	(*r)[row] = sh.row(id)
}

// reserve takes memory for n rows more, while no lock is held.
func (r *rows) reserve(n int) {
	if cap(*r)-len(*r) < n {
		*r = append(make(rows, 0, 2*len(*r)+n), *r...)
	}
}

// each yields rows in an order. An item that was added again while a shard was
// read in several holds may have two: known, if it is not nil, keeps the second
// away.
func (r rows) each(order []int, known map[any]struct{}, yield func(stats.Item[any]) bool) bool {
	for _, row := range order {
		if known != nil {
			if _, again := known[r[row].Item]; again {
				continue
			}
			known[r[row].Item] = struct{}{}
		}
		if !yield(r[row]) {
			return false
		}
	}
	return true
}

// Inspect returns the Stats, and at most limit items of each state.
func (s *Core) Inspect(limit int) stats.Snapshot[any] {
	found := s.inspect(max(0, min(limit, math.MaxInt32)))
	var known map[any]struct{}
	if found.swept {
		known = make(map[any]struct{})
	}
	of := func(state stats.State) (some []stats.Item[any]) {
		found.rows.each(found.order(state), known, func(i stats.Item[any]) bool {
			some = append(some, i)
			return true
		})
		return some
	}
	return stats.Snapshot[any]{
		Stats: found.tally.Stats,
		Ready: of(stats.Ready), Processing: of(stats.Processing), Delayed: of(stats.Delayed),
	}
}

// Items yields the items in a state, shard by shard, with no lock held: each
// that stays in the state, and none twice.
func (s *Core) Items(state stats.State) iter.Seq[stats.Item[any]] {
	return func(yield func(stats.Item[any]) bool) {
		for sh := range s.shards.made() {
			var r rows
			order, swept := sh.list(state, &r)
			var known map[any]struct{}
			if swept {
				known = make(map[any]struct{}, len(order))
			}
			if !r.each(order, known, yield) {
				return
			}
		}
	}
}

// Left returns all that the set holds, each item once, in no order.
func (s *Core) Left() []stats.Item[any] {
	var r rows
	for sh := range s.shards.made() {
		sh.eachEntry(func(id uint32, _ *items.Entry) { r.read(sh, id, len(r)) }, func() (on bool) {
			r.reserve(rowsPerHold)
			return true
		})
	}
	return r
}

func (sh *shard) row(id uint32) stats.Item[any] {
	e := sh.table.At(id)
	i := sh.info(id, e)
	i.Item = sh.set.items.Any(e)
	return i
}

// info is the row of an entry without its item.
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

// Lookup returns an item as the set holds it, because 0 is equal to -0, and its row
// without the item.
func (s *Set[T]) Lookup(item T) (held T, row stats.Item[any], ok bool) {
	sh, hash := s.locate(item)
	sh.lock()
	defer sh.unlock()
	id := s.find(sh, item, hash)
	if id == 0 {
		return held, row, false
	}
	e := sh.table.At(id)
	return *items.Of[T](e), sh.info(id, e), true
}
