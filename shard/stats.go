package shard

import (
	"cmp"
	"math"
	"math/bits"
	"sort"
	"time"

	"github.com/shardq/shardq/internal/topk"
	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/shard/internal/wake"
	"github.com/shardq/shardq/stats"
)

type tally struct {
	stats.Stats
	depths depths
}

// Stats returns a consistent reading of each shard, one after the other.
func (s *Core) Stats() stats.Stats {
	st, now := s.newStats()
	for sh := range s.shards.made() {
		sh.withLock(func() (visited int, more bool) { return sh.addStatsTo(&st, now), false })
	}
	st.finish(s)
	return st.Stats
}

func (s *Core) newStats() (st tally, now present) {
	_, held := s.throttled.read()
	st.Stats = stats.Stats{
		Shards:       len(s.shards.all),
		Rejected:     s.faults.rejected.Load(),
		Misused:      s.faults.misused.Load(),
		OverCapacity: s.limit.Exceeded(),
		Discarded:    s.faults.discarded.Load(),
		Throttled:    int(held),
		Capacity:     s.config.Capacity,
		Paused:       s.gate.paused.Load(),
		Closed:       s.gate.closed(),
		Parked:       s.parker.Parked(),
		ShuttingDown: s.ShuttingDown(),
		PerShard:     make([]stats.Shard, len(s.shards.all)),
	}
	if b := s.gate.bucket.Load(); b != nil {
		st.Rate = b.rate.Public()
	}
	if s.config.Ages {
		now = s.present()
	}
	if s.measures != nil {
		st.Metrics = s.newMetrics()
	}
	return st, now
}

func (st *tally) finish(s *Core) {
	st.Priorities = st.depths.rows()
	first := uint64(never)
	for sh := range s.shards.made() {
		first = min(first, sh.next.Load())
	}
	if m := st.Metrics; m != nil {
		m.Depth = st.Ready + m.Dirty
		if end := s.inFlightAtEnd.Load(); end != nil {
			m.Unfinished, m.LongestRunning = end.together, end.longest
		}
	}
	if st.Delayed > 0 && first != never {
		st.NextDue = s.time.At(first)
	}
	if wait := s.driver.earliestWait(); wait != never && st.Ready > 0 {
		st.NextToken = s.time.At(wait)
	}
}

func (sh *shard) addStatsTo(st *tally, read present) (asked int) {
	now := sh.seen(read)
	info, asked := sh.shardInfo(now)
	st.PerShard[sh.number] = info
	st.Ready += info.Ready
	st.Processing += info.Processing
	st.Held += info.Held
	st.Delayed += info.Delayed
	asked += sh.addDepthsTo(&st.depths)
	groups, byRate, byPause := sh.line.Counts()
	st.Groups += groups
	st.ThrottledByRate += byRate
	st.ThrottledByPause += byPause
	st.Added += sh.count.added
	st.Deduplicated += sh.count.deduplicated
	st.Expired += sh.rare.expired
	st.Dropped += sh.rare.dropped
	st.Done += sh.rare.done + uint64(sh.done)
	st.Canceled += sh.rare.canceled
	if st.Metrics != nil {
		sh.addMeasuresTo(st.Metrics, now)
	}
	return asked
}

func (sh *shard) shardInfo(now uint64) (info stats.Shard, asked int) {
	info = stats.Shard{Ready: int(sh.line.Depth()), Processing: int(sh.line.Processing()), Added: sh.count.added}
	if sh.wheel != nil {
		info.Delayed = sh.wheel.Len()
	}
	if sh.table == nil {
		return info, 0
	}
	info.Held = int(sh.table.Live)
	if sh.set.config.Ages {
		info.OldestReady, asked = sh.oldestReady(now)
		info.OldestProcessing = sh.age(sh.table.times.inFlight.Head, now)
	}
	return info, asked
}

const mostGroupsAsked = 64

func (sh *shard) oldestReady(now uint64) (oldest time.Duration, asked int) {
	for head := range sh.line.Heads() {
		oldest = max(oldest, sh.age(head, now))
		if asked++; asked == mostGroupsAsked {
			break
		}
	}
	return oldest, asked
}

// CountDiscard counts an item whose attempts were exhausted.
func (s *Core) CountDiscard() { s.faults.discarded.Add(1) }

// Len returns the number of ready items. It locks only shards that have some.
func (s *Core) Len() (n int) {
	if _, throttled := s.throttled.read(); len(s.shards.all) == 1 || throttled > 0 { // the ready bits leave out throttled groups
		for sh := range s.shards.made() {
			n += sh.len()
		}
		return n
	}
	for word := range s.shards.ready.Words() {
		for ready := s.shards.ready.Word(word); ready != 0; ready &= ready - 1 {
			n += s.shard(word*wake.WordBits + bits.TrailingZeros64(ready)).len()
		}
	}
	return n
}

// Depth returns the number of ready and dirty items of a set with metrics.
func (s *Core) Depth() (n int) {
	for sh := range s.shards.made() {
		sh.lock()
		n += int(sh.line.Depth())
		if m := sh.measures(); m != nil {
			n += m.dirty
		}
		sh.unlock()
	}
	return n
}

// CountDirty adds the numbers of dirty items by priority. With ages, it visits the
// items in processing, in one hold of each shard: as many as there are consumers.
func (s *Core) CountDirty(by map[int]int) {
	for sh := range s.shards.made() {
		count := func(id uint32, e *items.Entry) {
			if e.Phase() == items.Dirty {
				by[sh.table.Requested.Run(id)]++
			}
		}
		if !s.config.Ages {
			sh.eachEntry(count, func() bool { return true })
			continue
		}
		sh.withLock(func() (visited int, more bool) {
			if sh.table != nil {
				sh.table.Walk(&sh.table.times.inFlight, func(id uint32) bool {
					count(id, sh.table.At(id))
					return true
				})
			}
			return 0, false
		})
	}
}

func (sh *shard) len() int {
	sh.lock()
	defer sh.unlock()
	return int(sh.line.Depth())
}

const states = 3

type rows[T comparable] [states + 1][]stats.Item[T]

func (r *rows[T]) cut(limit int) {
	for state := range r {
		r[state] = firstOf(r[state], limit)
	}
}

type inspection[T comparable] struct {
	limit int
	now   present
	tally tally
	rows  rows[T]
	begin rows[T] // what a shard yields in one hold; reused, to allocate rarely under the lock
}

// Inspect returns the Stats, and at most limit items of each state.
func (s *Set[T]) Inspect(limit int) stats.Snapshot[T] {
	l := inspection[T]{limit: max(0, min(limit, math.MaxInt32))}
	l.tally, l.now = s.Core.newStats()
	for sh := range s.Core.shards.made() {
		l.inspectShard(s, sh)
	}
	l.tally.finish(s.Core)
	l.rows.cut(l.limit)
	return stats.Snapshot[T]{
		Stats: l.tally.Stats, Ready: l.rows[stats.Ready],
		Processing: l.rows[stats.Processing], Delayed: l.rows[stats.Delayed],
	}
}

func (l *inspection[T]) inspectShard(s *Set[T], sh *shard) {
	var left []stats.State // whose rows are not complete
	sh.withLock(func() (visited int, more bool) {
		visited = sh.addStatsTo(&l.tally, l.now)
		for state := stats.Ready; state <= stats.Delayed; state++ {
			l.begin[state] = l.begin[state][:0]
			n, all := s.first(sh, &l.begin[state], state, l.limit)
			if visited += n; !all {
				left = append(left, state)
			}
		}
		return visited, false
	})
	search := newSearch(left, l.limit, &l.begin)
	if len(left) > 0 {
		search.run(s, sh)
	}
	full := false
	for state := range l.rows {
		l.rows[state] = append(append(l.rows[state], l.begin[state]...), search.values(stats.State(state))...)
		full = full || len(l.rows[state])/4 > l.limit
	}
	if full {
		l.rows.cut(l.limit)
	}
}

func firstOf[T comparable](rows []stats.Item[T], limit int) []stats.Item[T] {
	sort.SliceStable(rows, func(i, j int) bool { // package slices would be compiled for each type
		a, b := &rows[i], &rows[j]
		if a.State == stats.Delayed {
			return a.Deadline.Before(b.Deadline)
		}
		return a.Since.Before(b.Since)
	})
	clear(rows[min(limit, len(rows)):])
	return rows[:min(limit, len(rows))]
}

// With groups, the longest ready item may be of any group, so first appends all
// ready items, or none if they are many.
func (s *Set[T]) first(sh *shard, rows *[]stats.Item[T], state stats.State, limit int) (visited int, all bool) {
	most, there := min(limit, rowsPerHold), sh.there(state)
	if limit == 0 || there == 0 {
		return 0, true
	}
	visit := func(id uint32) bool {
		if visited == most {
			return false
		}
		visited++
		*rows = append(*rows, s.info(sh, id))
		return true
	}
	switch state {
	case stats.Ready:
		if !sh.line.OneQueue() {
			most, limit = rowsPerHold, there
		}
		if sh.line.OneQueue() || there <= rowsPerHold {
			sh.line.Walk(&sh.table.Table, visit)
		}
	case stats.Processing:
		if !sh.set.config.Ages {
			return s.firstProcessing(sh, rows, min(limit, there))
		}
		sh.table.Walk(&sh.table.times.inFlight, visit)
	case stats.Delayed:
		return s.firstDelayed(sh, rows, limit)
	}
	return visited, visited >= min(limit, there)
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

func (s *Set[T]) firstProcessing(sh *shard, rows *[]stats.Item[T], want int) (visited int, all bool) {
	visited, _ = sh.table.Piece(0, rowsPerHold, func(id uint32) {
		if want > 0 && stateOf(sh.table.At(id).Phase()) == stats.Processing {
			want--
			*rows = append(*rows, s.info(sh, id))
		}
	})
	return visited, want == 0
}

// firstDelayed skips items that are in another state as well.
func (s *Set[T]) firstDelayed(sh *shard, rows *[]stats.Item[T], limit int) (visited int, all bool) {
	ids, all := sh.wheel.EarliestWithin(rowsPerHold, limit, func(id uint32) bool {
		visited++
		return sh.table.At(id).Phase() == items.Idle
	})
	for _, id := range ids {
		*rows = append(*rows, s.info(sh, id))
	}
	return visited, all
}

type search[T comparable] struct {
	kept  [states + 1]*topk.Selection[ranked[T]] // by state, if that is searched for
	known map[T]struct{}                         // what must not be returned again: kept, or by first
	found []stats.Item[T]                        // the rows of a hold, and below their keys
	rank  []uint64
	spare *stats.Item[T] // a row that is not kept any more
}

type ranked[T comparable] struct {
	at  uint64
	row *stats.Item[T]
}

func newSearch[T comparable](of []stats.State, limit int, begin *rows[T]) *search[T] {
	s := &search[T]{known: make(map[T]struct{})}
	for _, state := range of {
		s.kept[state] = topk.New(limit, func(a, b ranked[T]) int { return cmp.Compare(a.at, b.at) })
	}
	for _, rows := range begin {
		for i := range rows {
			s.known[rows[i].Item] = struct{}{}
		}
	}
	return s
}

func (r *search[T]) run(s *Set[T], sh *shard) {
	sh.eachEntry(func(id uint32, e *items.Entry) {
		state := stateOf(e.Phase())
		kept := r.kept[state]
		if kept == nil {
			return
		}
		if at := sh.orderOf(id, state); kept.Wants(ranked[T]{at: at}) {
			r.found, r.rank = append(r.found, s.info(sh, id)), append(r.rank, at)
		}
	}, func() (on bool) {
		r.keep()
		return sh.set.config.Ages || !r.full()
	})
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

// keep skips known items. One that was added again has another id.
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

func (s *search[T]) copy(found *stats.Item[T]) (row *stats.Item[T]) {
	if row, s.spare = s.spare, nil; row == nil {
		row = new(stats.Item[T])
	}
	*row = *found
	return row
}

func (s *search[T]) full() bool {
	for state, kept := range s.kept {
		if kept != nil && (stats.State(state) == stats.Delayed || !kept.Full()) {
			return false
		}
	}
	return true
}

func (s *search[T]) values(state stats.State) (rows []stats.Item[T]) {
	if s.kept[state] != nil {
		for _, r := range s.kept[state].Values() {
			rows = append(rows, *r.row)
		}
	}
	return rows
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

func stateOf(p items.Phase) stats.State {
	return [...]stats.State{stats.Delayed, stats.Ready, stats.Processing, stats.Processing}[p] // as the constants
}

func (sh *shard) due(id uint32) uint64 {
	deadline, _ := sh.wheel.Deadline(id)
	return deadline
}
