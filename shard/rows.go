package shard

import (
	"iter"
	"math"

	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/stats"
)

// rows are what inspections return, read by the Core, which knows no items.
type rows[T comparable] struct {
	set *Set[T]
	all []stats.Item[T]
}

func (r *rows[T]) read(sh *shard, id uint32, row int) {
	if row == len(r.all) {
		r.all = append(r.all, stats.Item[T]{})
	}
	r.all[row] = r.set.info(sh, id)
}

func (r *rows[T]) reserve(n int) {
	if cap(r.all)-len(r.all) < n {
		all := make([]stats.Item[T], len(r.all), 2*len(r.all)+n)
		copy(all, r.all)
		r.all = all
	}
}

func (r *rows[T]) lineOf(row int) (group string, priority int) {
	return r.all[row].Group, r.all[row].Priority
}

// each yields rows in an order. An item that was added again while a shard was
// read in several holds may have two: known, if it is not nil, keeps the second
// away.
func (r *rows[T]) each(order []int, known map[T]struct{}, yield func(*stats.Item[T]) bool) bool {
	for _, row := range order {
		i := &r.all[row]
		if known != nil {
			if _, again := known[i.Item]; again {
				continue
			}
			known[i.Item] = struct{}{}
		}
		if !yield(i) {
			return false
		}
	}
	return true
}

// Inspect returns the Stats, and at most limit items of each state.
func (s *Set[T]) Inspect(limit int) (shot stats.Snapshot[T]) {
	r := &rows[T]{set: s}
	found := s.Core.inspect(max(0, min(limit, math.MaxInt32)), r)
	var known map[T]struct{}
	if found.swept {
		known = make(map[T]struct{})
	}
	of := func(state stats.State) (some []stats.Item[T]) {
		r.each(found.order(state), known, func(i *stats.Item[T]) bool {
			some = append(some, *i)
			return true
		})
		return some
	}
	return stats.Snapshot[T]{
		Stats: found.tally.Stats,
		Ready: of(stats.Ready), Processing: of(stats.Processing), Delayed: of(stats.Delayed),
	}
}

// Items yields the items in a state, shard by shard, with no lock held: each
// that stays in the state, and none twice.
func (s *Set[T]) Items(state stats.State) iter.Seq[stats.Item[T]] {
	return func(yield func(stats.Item[T]) bool) {
		for sh := range s.Core.shards.made() {
			r := &rows[T]{set: s}
			order, swept := sh.list(state, r)
			var known map[T]struct{}
			if swept {
				known = make(map[T]struct{}, len(order))
			}
			if !r.each(order, known, func(i *stats.Item[T]) bool { return yield(*i) }) {
				return
			}
		}
	}
}

// Left returns all that the set holds, each item once, in no order.
func (s *Set[T]) Left() []stats.Item[T] {
	r := &rows[T]{set: s}
	for sh := range s.Core.shards.made() {
		sh.eachEntry(func(id uint32, _ *items.Entry) { r.read(sh, id, len(r.all)) }, func() (on bool) {
			r.reserve(rowsPerHold)
			return true
		})
	}
	return r.all
}

func (s *Set[T]) info(sh *shard, id uint32) stats.Item[T] {
	e := sh.table.At(id)
	i := stats.Item[T]{Item: *items.Of[T](e), State: stateOf(e.Phase()), Dirty: e.Phase() == items.Dirty, Shard: int(sh.number)}
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

// Lookup describes an item, if the set holds it.
func (s *Set[T]) Lookup(item T) (info stats.Item[T], ok bool) {
	sh, hash := s.locate(item)
	sh.lock()
	defer sh.unlock()
	id := s.find(sh, item, hash)
	if id == 0 {
		return info, false
	}
	return s.info(sh, id), true
}
