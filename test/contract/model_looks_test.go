package contract

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"github.com/shardq/shardq"
)

var itemStates = []shardq.ItemState{shardq.Ready, shardq.Processing, shardq.Waiting}

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
	for state, rows := range map[shardq.ItemState][]shardq.ItemInfo[T]{
		shardq.Ready: s.Ready, shardq.Processing: s.Processing, shardq.Waiting: s.Waiting,
	} {
		p.checkRows(state, rows, min(max(limit, 0), len(p.model.states(state))))
	}
	p.checkFirst(s.Waiting, shardq.Waiting, p.model.waiting)
	if p.setup.ages.kept && p.knowsAges() {
		p.checkFirst(s.Ready, shardq.Ready, p.model.age.since)
		p.checkFirst(s.Processing, shardq.Processing, p.model.age.since)
	}
}

// checkRows checks that there are n different rows, all of which are true.
func (p *playing[T]) checkRows(state shardq.ItemState, rows []shardq.ItemInfo[T], n int) {
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

func (p *playing[T]) checkRow(row shardq.ItemInfo[T]) {
	m, item := p.model, row.Item
	want := shardq.ItemInfo[T]{
		Item: item, State: shardq.Waiting, Shard: row.Shard,
		Attempts: p.limiter.numRequeues(item, m.now),
	}
	if p.setup.routing == "group" {
		want.Group = p.universe.group(item)
	}
	switch m.phase[item] {
	case "ready":
		want.State = shardq.Ready
	case "processing", "dirty":
		want.State, want.Dirty = shardq.Processing, m.phase[item] == "dirty"
	}
	if deadline, waits := m.waiting[item]; waits {
		want.Deadline = p.began.Add(deadline)
		if deadline == endOfTime {
			want.Deadline = row.Deadline // beyond what a Time in this distance can say
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
			row, m.phase, m.age.since, m.waiting)
	}
	p.checkShard(row)
}

// checkShard checks that the items of a line are in one shard, which remains the same.
func (p *playing[T]) checkShard(row shardq.ItemInfo[T]) {
	line := p.model.lineOf(row.Item)
	if of, known := p.shardOf[line]; known && of != row.Shard || row.Shard < 0 || row.Shard >= p.setup.shards {
		p.fatalf("%+v was in shard %d before", row, of)
	}
	p.shardOf[line] = row.Shard
}

// checkFirst checks that the rows are in their order, and the first of all in the state.
func (p *playing[T]) checkFirst(rows []shardq.ItemInfo[T], state shardq.ItemState, by map[T]time.Duration) {
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

// knowsAges reports whether the model knows since when each item is in its state.
func (p *playing[T]) knowsAges() bool {
	for item := range p.model.phase {
		if _, known := p.model.age.since[item]; !known {
			return false
		}
	}
	return true
}

// checkOrderOfAll checks the order within each shard.
func (p *playing[T]) checkOrderOfAll(state shardq.ItemState, rows []shardq.ItemInfo[T]) {
	last := map[int]shardq.ItemInfo[T]{}
	taken := map[int]int{}
	for _, row := range rows {
		before, follows := last[row.Shard]
		last[row.Shard] = row
		switch {
		case state == shardq.Waiting && follows && row.Deadline.Before(before.Deadline),
			state == shardq.Processing && follows && row.Since.Before(before.Since):
			p.fatalf("in one shard, %+v comes before %+v", before, row)
		case state == shardq.Ready && (!p.setup.ages.kept || p.knowsAges()):
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
