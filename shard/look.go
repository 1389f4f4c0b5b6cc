package shard

import (
	"cmp"
	"math"
	"slices"

	"github.com/shardq/shardq/internal/topk"
)

// A Look is what there is in a set.
type Look[T comparable] struct {
	Stats Stats
	// Processing, Ready and Waiting are some of the items.
	Processing, Ready, Waiting []Info[T]
}

// states are those that items are in, from 1 on.
const states = 3

// rows returns those of each state.
func (l *Look[T]) rows() [states + 1]*[]Info[T] {
	return [...]*[]Info[T]{Processing: &l.Processing, Ready: &l.Ready, Waiting: &l.Waiting}
}

// Look returns at most limit items of each state, those first that are of most interest:
// the longest in the state if the queue keeps ages, and of those that wait the first to be
// ready. It looks at one shard after the other. What it says of a shard is of one
// moment if that has few items, or the limit is small and its lists have the order.
// Otherwise it reads the items after the Stats, in holds of the shard's lock of at most
// rowsPerHold items each. Then it misses no item that stays in its state, and tells of
// none twice.
func (s *Set[T]) Look(limit int) (l Look[T]) {
	limit = max(0, min(limit, math.MaxInt32))
	stats, now := s.newStats()
	l.Stats = stats
	var told firsts[T]
	for sh := range s.made() {
		l.lookInto(sh, limit, now, &told)
	}
	s.finish(&l.Stats)
	l.cut(limit)
	return l
}

// firsts are the rows of each state that a shard tells of in one hold of its lock: of
// one shard after the other, so that their memory is there by then.
type firsts[T comparable] [states + 1][]Info[T]

func (l *Look[T]) lookInto(sh *shard[T], limit int, now present, told *firsts[T]) {
	var left []State // of which there is more to tell
	sh.look(func() (visited int, more bool) {
		visited = sh.addStatsTo(&l.Stats, now)
		for state := Ready; state <= Waiting; state++ {
			told[state] = told[state][:0]
			n, all := sh.first(&told[state], state, limit)
			if visited += n; !all {
				left = append(left, state)
			}
		}
		return visited, false
	})
	search := newSearch[T](left, limit)
	if len(left) > 0 {
		search.know(told)
		search.run(sh)
	}
	full := false
	for state, rows := range l.rows() {
		if state > 0 {
			*rows = append(append(*rows, told[state]...), search.values(State(state))...)
			full = full || len(*rows)/4 > limit
		}
	}
	if full {
		l.cut(limit)
	}
}

func (l *Look[T]) cut(limit int) {
	l.Processing = firstOf(l.Processing, limit)
	l.Ready = firstOf(l.Ready, limit)
	l.Waiting = firstOf(l.Waiting, limit)
}

// firstOf sorts the rows, and cuts them down to a number.
func firstOf[T comparable](rows []Info[T], limit int) []Info[T] {
	slices.SortStableFunc(rows, func(a, b Info[T]) int {
		if a.State == Waiting {
			return a.Deadline.Compare(b.Deadline)
		}
		return a.Since.Compare(b.Since)
	})
	clear(rows[min(limit, len(rows)):])
	return rows[:min(limit, len(rows))]
}

// first appends to rows what a shard tells of a state in one hold of its lock: items
// that are first in their order, at most limit and rowsPerHold. It reports whether
// there is no more to tell. Where there are groups, the longest ready may be of any of
// them: so it tells of all that are ready, or if these are many, of none.
func (sh *shard[T]) first(rows *[]Info[T], state State, limit int) (visited int, all bool) {
	most, there := min(limit, rowsPerHold), sh.there(state)
	if limit == 0 || there == 0 {
		return 0, true
	}
	visit := func(id uint32) bool {
		if visited == most {
			return false
		}
		visited++
		*rows = append(*rows, sh.info(id))
		return true
	}
	switch state {
	case Ready:
		if sh.groups != nil {
			most, limit = rowsPerHold, there
		}
		if sh.groups == nil || there <= rowsPerHold {
			sh.walkReady(visit)
		}
	case Processing:
		if !sh.set.ages {
			return sh.firstProcessing(rows, min(limit, there))
		}
		sh.table.walk(&sh.table.times.inFlight, visit)
	case Waiting:
		return sh.firstWaiting(rows, limit)
	}
	return visited, visited >= min(limit, there)
}

// there returns how many items are in a state.
func (sh *shard[T]) there(state State) int {
	switch {
	case sh.table == nil:
		return 0
	case state == Ready:
		return int(sh.depth())
	case state == Processing:
		return int(sh.processing())
	case state == Waiting:
		return int(sh.table.live - sh.depth() - sh.processing())
	}
	return 0
}

// firstProcessing is first for the items in processing of a shard that has no list of
// them, of which it is to tell so many.
func (sh *shard[T]) firstProcessing(rows *[]Info[T], want int) (visited int, all bool) {
	visited, _ = sh.table.piece(0, func(id uint32) {
		if want > 0 && sh.table.at(id).phase().state() == Processing {
			want--
			*rows = append(*rows, sh.info(id))
		}
	})
	return visited, want == 0
}

// firstWaiting is first for the items that wait and are in no other state.
func (sh *shard[T]) firstWaiting(rows *[]Info[T], limit int) (visited int, all bool) {
	ids, all := sh.wheel.EarliestWithin(rowsPerHold, limit, func(id uint32) bool {
		visited++
		return sh.table.at(id).phase() == idle
	})
	for _, id := range ids {
		*rows = append(*rows, sh.info(id))
	}
	return visited, all
}

// A search sweeps through a shard for the first items of some states.
type search[T comparable] struct {
	// kept has a selection for each state that is searched for; the others are nil.
	kept [states + 1]*topk.Selection[ranked[T]]
	// known are the items that need not be told of again: those that are kept, and
	// those that were told of before.
	known map[T]struct{}
	// found are the rows of a hold, and rank what their states are ordered by.
	found []Info[T]
	rank  []uint64
	// spare is a row that is not kept any more.
	spare *Info[T]
}

// A ranked row has what its state is ordered by: since when, or until when.
type ranked[T comparable] struct {
	at  uint64
	row *Info[T]
}

func newSearch[T comparable](of []State, limit int) *search[T] {
	s := &search[T]{}
	for _, state := range of {
		s.kept[state] = topk.New(limit, func(a, b ranked[T]) int { return cmp.Compare(a.at, b.at) })
	}
	return s
}

// know takes the items that were told of.
func (s *search[T]) know(told *firsts[T]) {
	s.known = make(map[T]struct{})
	for _, rows := range told {
		for i := range rows {
			s.known[rows[i].Item] = struct{}{}
		}
	}
}

func (s *search[T]) run(sh *shard[T]) {
	sh.eachEntry(func(id uint32, e *entry[T]) {
		state := e.phase().state()
		kept := s.kept[state]
		if kept == nil {
			return
		}
		if at := sh.orderOf(id, state); kept.Wants(ranked[T]{at: at}) {
			s.found, s.rank = append(s.found, sh.info(id)), append(s.rank, at)
		}
	}, func() (on bool) {
		s.keep()
		return sh.set.ages || !s.full()
	})
}

// orderOf returns what an entry's state is ordered by, if it is.
func (sh *shard[T]) orderOf(id uint32, state State) uint64 {
	switch {
	case state == Waiting:
		return sh.due(id)
	case sh.set.ages:
		return sh.table.times.of(id)
	}
	return 0
}

// keep offers what was found in a hold, unless an item is known: one that was
// forgotten and came back has another id, and is met again.
func (s *search[T]) keep() {
	for i := range s.found {
		kept, r := s.kept[s.found[i].State], ranked[T]{at: s.rank[i]}
		if _, again := s.known[s.found[i].Item]; again || !kept.Wants(r) {
			continue
		}
		r.row = s.copy(&s.found[i])
		s.known[r.row.Item] = struct{}{}
		if out, dropped := kept.Add(r); dropped {
			delete(s.known, out.row.Item)
			s.spare = out.row
		}
	}
	s.found, s.rank = s.found[:0], s.rank[:0]
}

// copy returns a row of its own: as a rule the last that was dropped, since very many
// may be kept for a while.
func (s *search[T]) copy(found *Info[T]) (row *Info[T]) {
	if row, s.spare = s.spare, nil; row == nil {
		row = new(Info[T])
	}
	*row = *found
	return row
}

// full reports whether no more is wanted, if any items will do.
func (s *search[T]) full() bool {
	for state, kept := range s.kept {
		if kept != nil && (State(state) == Waiting || !kept.Full()) {
			return false
		}
	}
	return true
}

// values returns what was found of a state.
func (s *search[T]) values(state State) (rows []Info[T]) {
	if s.kept[state] != nil {
		for _, r := range s.kept[state].Values() {
			rows = append(rows, *r.row)
		}
	}
	return rows
}
