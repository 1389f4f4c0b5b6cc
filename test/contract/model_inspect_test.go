package contract

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"github.com/shardq/shardq/stats"
)

var itemStates = []stats.State{stats.Ready, stats.Processing, stats.Delayed}

// checkAll compares what All shows with the model in full.
func (p *playing[T]) checkAll() {
	for _, state := range itemStates {
		rows := slices.Collect(p.queue.All(state))
		p.checkRows(state, rows, len(p.model.states(state)))
		p.checkOrderOfAll(state, rows)
	}
}

// checkSnapshot compares a Snapshot.
func (p *playing[T]) checkSnapshot(limit int) {
	s := p.queue.Snapshot(limit)
	if !s.Time.Equal(p.clock.Now()) || !reflect.DeepEqual(counts(s.Stats), p.model.statsNow()) {
		p.fatalf("a snapshot at %v is of %v, with %+v", p.clock.Now(), s.Time, s.Stats)
	}
	for state, rows := range map[stats.State][]stats.Item[T]{
		stats.Ready: s.Ready, stats.Processing: s.Processing, stats.Delayed: s.Delayed,
	} {
		p.checkRows(state, rows, min(max(limit, 0), len(p.model.states(state))))
	}
	p.checkFirst(s.Delayed, stats.Delayed, p.model.delayed)
	if p.setup.ages.kept && p.knowsAges() {
		p.checkFirst(s.Ready, stats.Ready, p.model.age.since)
		p.checkFirst(s.Processing, stats.Processing, p.model.age.since)
	}
}

// checkRows checks that there are n different rows, all of them right.
func (p *playing[T]) checkRows(state stats.State, rows []stats.Item[T], n int) {
	seen := map[T]bool{}
	for _, row := range rows {
		seen[row.Item] = true
		if row.State != state {
			p.fatalf("of the state %v there is %+v", state, row)
		}
		p.checkRow(row)
	}
	if len(rows) != n || len(seen) != n {
		p.fatalf("of the state %v there are %+v, which should be %d", state, rows, n)
	}
}

func (p *playing[T]) checkRow(row stats.Item[T]) {
	m, item := p.model, row.Item
	want := stats.Item[T]{
		Item: item, State: stats.Delayed, Shard: row.Shard,
		Attempts: p.limiter.numRequeues(item, m.now),
	}
	if p.setup.routing == "group" {
		want.Group = p.universe.group(item)
	}
	switch m.phase[item] {
	case "ready":
		want.State = stats.Ready
	case "processing", "dirty":
		want.State, want.Dirty = stats.Processing, m.phase[item] == "dirty"
	}
	if deadline, waits := m.delayed[item]; waits {
		want.Deadline = p.began.Add(deadline)
		if deadline == endOfTime {
			want.Deadline = row.Deadline // beyond the range of a Time
		}
	}
	if p.setup.ages.kept {
		since, known := m.age.since[item]
		if want.Since = row.Since; known {
			want.Since = p.began.Add(since)
		}
	}
	same := row.Since.Equal(want.Since) && row.Deadline.Equal(want.Deadline) && m.holds(item)
	want.Since, want.Deadline = row.Since, row.Deadline // which may differ in their form
	if !same || row != want {
		p.fatalf("there is %+v, but the phases are %v, since %v, the deadlines %v",
			row, m.phase, m.age.since, m.delayed)
	}
	p.checkShard(row)
}

// checkShard checks that the items of a line are in one shard, which does not
// change.
func (p *playing[T]) checkShard(row stats.Item[T]) {
	line := p.model.lineOf(row.Item)
	if of, known := p.shardOf[line]; known && of != row.Shard || row.Shard < 0 || row.Shard >= p.setup.shards {
		p.fatalf("%+v was in shard %d before", row, of)
	}
	p.shardOf[line] = row.Shard
}

// checkFirst checks that the rows are in their order, and are the first of all
// items in the state.
func (p *playing[T]) checkFirst(rows []stats.Item[T], state stats.State, by map[T]time.Duration) {
	all := p.model.states(state)
	for _, item := range all {
		if by[item] == endOfTime {
			return
		}
	}
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(by[a], by[b]) })
	for i, row := range rows {
		if by[row.Item] != by[all[i]] {
			p.fatalf("row %d of %+v is of %v, not %v", i, rows, by[row.Item], by[all[i]])
		}
	}
}

// knowsAges reports whether the model knows the ages of all items.
func (p *playing[T]) knowsAges() bool {
	for item := range p.model.phase {
		if _, known := p.model.age.since[item]; !known {
			return false
		}
	}
	return true
}

// checkOrderOfAll checks the order within each shard.
func (p *playing[T]) checkOrderOfAll(state stats.State, rows []stats.Item[T]) {
	last := map[int]stats.Item[T]{}
	taken := map[int]int{}
	for _, row := range rows {
		before, follows := last[row.Shard]
		last[row.Shard] = row
		switch {
		case state == stats.Delayed && follows && row.Deadline.Before(before.Deadline),
			state == stats.Processing && follows && row.Since.Before(before.Since):
			p.fatalf("in one shard, %+v is before %+v", before, row)
		case state == stats.Ready && (!p.setup.ages.kept || p.knowsAges()):
			p.checkPlace(row.Item, taken)
		}
	}
}

// checkPlace checks that a ready item is the next of its line.
func (p *playing[T]) checkPlace(item T, taken map[int]int) {
	line := p.model.lineOf(item)
	place := taken[line]
	taken[line]++
	for _, items := range p.model.lines[line] {
		if place < len(items) {
			if !slices.Contains(items, item) {
				p.fatalf("All has %#v in place %d of its line, but the lines are %v", item, taken[line]-1, p.model.lines)
			}
			return
		}
		place -= len(items)
	}
}
