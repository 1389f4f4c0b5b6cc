package shard

import (
	"cmp"
	"math"

	"github.com/shardq/shardq/internal/topk"
	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/stats"
)

const states = 3

// An inspection selects the first items of each state from all shards.
type inspection struct {
	tally tally
	now   present
	limit int
	kept  [states + 1]*topk.Selection[ranked]
	swept bool             // a shard was read in several holds
	spare *stats.Item[any] // a row that another has replaced, or nil
}

type ranked struct {
	at  uint64
	row *stats.Item[any]
}

// Inspect returns the Stats, and at most limit items of each state.
func (s *Core) Inspect(limit int) stats.Snapshot[any] {
	l := &inspection{limit: max(0, min(limit, math.MaxInt32))}
	for state := range l.kept {
		l.kept[state] = topk.New(l.limit, func(a, b ranked) int { return cmp.Compare(a.at, b.at) })
	}
	l.tally, l.now = s.newStats()
	for sh := range s.shards.made() {
		l.inspectShard(sh)
	}
	l.tally.finish(s)
	known := map[any]struct{}{}
	of := func(state stats.State) (rows []stats.Item[any]) {
		for _, r := range l.kept[state].Values() {
			if !l.swept || isNew(known, r.row) {
				rows = append(rows, *r.row)
			}
		}
		return rows
	}
	return stats.Snapshot[any]{
		Stats: l.tally.Stats,
		Ready: of(stats.Ready), Processing: of(stats.Processing), Delayed: of(stats.Delayed),
	}
}

// isNew reports whether an item has no row yet, and remembers it. An item that
// was added again while its shard was read in several holds may have two rows.
func isNew(known map[any]struct{}, row *stats.Item[any]) bool {
	before := len(known)
	known[row.Item] = struct{}{}
	return len(known) > before
}

// inspectShard reads what needs few rows in one hold, together with the Stats.
// For the rest it sweeps all entries.
func (l *inspection) inspectShard(sh *shard) {
	var sweeps [states + 1]bool
	sh.inPieces(func(n int) (visited int, more bool) {
		if n == 0 {
			visited = l.begin(sh, &sweeps)
		}
		if sweeps == [states + 1]bool{} {
			return visited, false
		}
		l.swept = true
		entries, more := sh.piece(n, func(id uint32, e *items.Entry) {
			if state := stateOf(e.Phase()); sweeps[state] {
				l.offer(sh, id, state)
			}
		})
		return visited + entries, more
	}, func() (on bool) {
		for state, kept := range l.kept {
			if sweeps[state] {
				kept.Reserve(rowsPerHold) // while no lock is held
			}
		}
		return sh.set.config.Ages || !l.full(&sweeps)
	})
}

func (l *inspection) begin(sh *shard, sweeps *[states + 1]bool) (visited int) {
	visited = sh.addStatsTo(&l.tally, l.now)
	for state := stats.Ready; state <= stats.Delayed; state++ {
		n, all := sh.first(state, l.limit, func(id uint32) { l.offer(sh, id, state) })
		visited += n
		sweeps[state] = !all
	}
	return visited
}

func (l *inspection) offer(sh *shard, id uint32, state stats.State) {
	r := ranked{at: sh.orderOf(id, state), row: l.spare}
	if !l.kept[state].Wants(r) {
		return
	}
	if r.row == nil {
		r.row = new(stats.Item[any])
	}
	*r.row = sh.row(id)
	out, _ := l.kept[state].Add(r)
	l.spare = out.row
}

// full reports whether no other item can be among the first, if there are no ages.
func (l *inspection) full(sweeps *[states + 1]bool) bool {
	for state := stats.Ready; state < stats.Delayed; state++ {
		if sweeps[state] && !l.kept[state].Full() {
			return false
		}
	}
	return !sweeps[stats.Delayed]
}

// first visits the first items in a state, in order, unless that takes many rows.
// With groups, the longest ready item may be of any group, so it visits all.
// Without ages, items in processing have no order.
func (sh *shard) first(state stats.State, limit int, visit func(id uint32)) (visited int, all bool) {
	n := min(limit, sh.there(state))
	if n == 0 {
		return 0, true
	}
	upToN := func(id uint32) bool {
		if visited < n {
			visited++
			visit(id)
		}
		return visited < n
	}
	switch {
	case state == stats.Delayed:
		return sh.firstDelayed(limit, visit)
	case state == stats.Ready && !sh.line.OneQueue():
		n = sh.there(state)
	case state == stats.Processing && !sh.set.config.Ages:
		return 0, false
	}
	switch {
	case n > rowsPerHold:
		return 0, false
	case state == stats.Ready:
		sh.line.Walk(&sh.table.Table, upToN)
	default:
		sh.table.Walk(&sh.table.times.inFlight, upToN)
	}
	return visited, true
}

// firstDelayed skips items that are in another state as well.
func (sh *shard) firstDelayed(limit int, visit func(id uint32)) (visited int, all bool) {
	ids, all := sh.wheel.EarliestWithin(rowsPerHold, limit, func(id uint32) bool {
		visited++
		return sh.table.At(id).Phase() == items.Idle
	})
	for _, id := range ids {
		visit(id)
	}
	return visited, all
}

func (sh *shard) there(state stats.State) int {
	switch {
	case sh.table == nil:
		return 0
	case state == stats.Ready:
		return int(sh.line.Depth())
	case state == stats.Processing:
		return int(sh.line.Processing())
	case state == stats.Delayed:
		return int(sh.table.Live - sh.line.Depth() - sh.line.Processing())
	}
	return 0
}

func (sh *shard) orderOf(id uint32, state stats.State) uint64 {
	switch {
	case state == stats.Delayed:
		return sh.due(id)
	case sh.set.config.Ages:
		return sh.table.times.of(id)
	}
	return 0
}

func stateOf(p items.Phase) stats.State {
	return [...]stats.State{stats.Delayed, stats.Ready, stats.Processing, stats.Processing}[p] // as the constants
}

func (sh *shard) due(id uint32) uint64 {
	deadline, _ := sh.wheel.Deadline(id)
	return deadline
}
