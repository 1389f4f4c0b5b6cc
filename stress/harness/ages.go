package harness

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
)

// Ages, seen from outside: what OnStuck is told (C44), and what Snapshot and All show
// beside everything else (C43).

// stuckAfter is how long a key may be in processing before OnStuck is told.
const stuckAfter = 3 * time.Millisecond

// stuck is what the ledger knows of what OnStuck was told of a key, by its own clock.
type stuck struct {
	before atomic.Int64 // when the Get was called that yielded it last
	since  atomic.Int64 // since when it was in processing, as it was told last
	told   atomic.Int64 // when that was
}

// tellings counts how often OnStuck was told of each key.
type tellings struct {
	mu sync.Mutex
	of map[int]int
}

func (t *tellings) add(key int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[int]int{}
	}
	t.of[key]++
}

func (t *tellings) count(key int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of[key]
}

// tellStuck is the hook.
func (r *round) tellStuck(row shardq.ItemInfo[int]) {
	switch {
	case row.Item < 0 || row.State != shardq.Processing:
		r.violated.report("C44", -1, "OnStuck was told of %+v", row)
	case row.Item >= r.plan.Keys:
		r.tellings.add(row.Item)
	case r.ledger != nil:
		r.ledger.tellStuck(row, r.fake != nil)
	}
}

// stampSlack is how much older the stamp of a processing may be than it, by a fake clock:
// it is one to the tick, and a step may be under way.
const (
	stepSlack  = longestStep * time.Microsecond
	stampSlack = tick + stepSlack
)

// tellStuck judges a telling. It may come late, when the key is in processing again: then
// it says so, by since when. By the real clock, nothing is found too soon but by what the
// queue itself says: its stamps are older than they say by as much as the runtime's timer
// is late.
func (l *ledger) tellStuck(row shardq.ItemInfo[int], stepped bool) {
	s := &l.keys[row.Item].stuck
	at, since, before := l.time(), l.at(row.Since), s.before.Load()
	switch {
	case s.since.Swap(since) == since:
		l.violated.report("C44", row.Item, "OnStuck was told twice of one processing of key %d", row.Item)
	case at-since < int64(stuckAfter):
		l.violated.report("C44", row.Item, "OnStuck was told of key %d after %v in processing; wanted was %v",
			row.Item, time.Duration(at-since), stuckAfter)
	case stepped && since >= before-int64(stampSlack) && at-before < int64(stuckAfter-stepSlack):
		l.violated.report("C44", row.Item, "OnStuck was told of key %d %v after the call of its Get; wanted was %v",
			row.Item, time.Duration(at-before), stuckAfter)
	}
	s.told.Store(at)
}

// dawdle keeps a key until OnStuck is told of it, or need not be any more.
func (c *consumer) dawdle(key int) {
	s := &c.ledger.keys[key].stuck
	deadline := time.Now().Add(stuckAfter + grace)
	for s.told.Load() < s.before.Load() && !c.queue.ShuttingDown() && !c.violated.stopped.Load() {
		if c.progress.Add(1); time.Now().After(deadline) {
			c.violated.report("C44", key, "key %d was in processing for %v, and OnStuck was not told", key, stuckAfter+grace)
		}
		breathe()
	}
}

// A reading is what the ledger says of some keys before a look into the queue.
type reading []struct {
	runs, wanted uint64
	owned, idle  bool
}

// mostRead is how many keys are compared with a look.
const mostRead = 1024

// read is called before a look. The orders, here and after the look, are such that what
// says the same in both was so throughout.
func (l *ledger) read() reading {
	now := make(reading, min(len(l.keys), mostRead))
	for key := range now {
		r := &l.keys[key]
		now[key].runs, now[key].wanted = r.runs.Load(), r.wanted.Load()
		now[key].owned, now[key].idle = r.owned.Load() == 1, r.use.Load() == unused
	}
	return now
}

// held reports whether a worker had the key throughout.
func (l *ledger) held(key int, before reading) bool {
	r := &l.keys[key]
	return !l.misused(key) && before[key].owned && r.owned.Load() == 1 && r.runs.Load() == before[key].runs
}

// unusedSince reports whether the queue knew nothing of an ordered key throughout.
func (l *ledger) unusedSince(key int, before reading) bool {
	r := &l.keys[key]
	return classOf(key) == ordered && before[key].idle && r.wanted.Load() == before[key].wanted
}

var states = [...]shardq.ItemState{shardq.Ready, shardq.Processing, shardq.Waiting}

// inspect looks into the queue, and finds there what it knows.
func (a *actor) inspect(until <-chan struct{}) {
	for !closed(until) {
		a.operations++
		var before reading
		if a.ledger != nil {
			before = a.ledger.read()
		}
		if a.chance(4) {
			a.takeSnapshot(1+a.roll(50), before)
		} else {
			a.lookAtAll(states[a.roll(len(states))], before)
		}
		breathe()
	}
}

func (a *actor) takeSnapshot(limit int, before reading) {
	s := a.queue.snapshot(limit)
	for i, rows := range [][]shardq.ItemInfo[int]{s.Ready, s.Processing, s.Waiting} {
		if len(rows) > limit {
			a.violated.report("C43", -1, "a Snapshot of at most %d has %d items that are %v", limit, len(rows), states[i])
		}
		a.checkRows(rows, states[i], before)
	}
}

// lookAtAll ranges over All, and uses the queue meanwhile, or breaks off.
func (a *actor) lookAtAll(state shardq.ItemState, before reading) {
	var rows []shardq.ItemInfo[int]
	most := 1 << 30
	if a.chance(8) {
		most = 1 + a.roll(10)
	}
	for row := range a.queue.all(state) {
		if rows = append(rows, row); len(rows) == most {
			break
		}
		if len(rows)%64 == 0 {
			a.queue.Len()
		}
	}
	a.checkRows(rows, state, before)
	a.checkOrderOf(rows)
	if state == shardq.Processing && len(rows) < most {
		a.checkComplete(rows, before)
	}
}

// checkRows: what is shown is in the state that was asked for, and shown once.
func (a *actor) checkRows(rows []shardq.ItemInfo[int], state shardq.ItemState, before reading) {
	shown := make(map[int]bool, len(rows))
	for _, row := range rows {
		key := row.Item
		switch {
		case key < 0 || key >= a.plan.Keys:
			a.violated.report("C43", -1, "an item was shown that nobody adds: %+v", row)
		case row.State != state || row.Dirty && state != shardq.Processing || row.Deadline.IsZero() && state == shardq.Waiting:
			a.violated.report("C43", key, "of those that are %v, this was shown: %+v", state, row)
		case shown[key]:
			a.violated.report("C43", key, "key %d was shown twice as %v", key, state)
		case key >= len(before):
		case a.ledger.unusedSince(key, before):
			a.violated.report("C43", key, "key %d was shown as %v, and was unused all the time", key, state)
		case state != shardq.Processing && a.ledger.held(key, before):
			a.violated.report("C43", key, "key %d was shown as %v, and a worker had it all the time", key, state)
		}
		shown[key] = true
		a.checkGroupOf(row)
	}
}

// checkOrderOf: All goes from shard to shard; of what is ready it shows one group after the
// other, if there are groups; and then the oldest first, or of what is ready the highest
// priorities, if there are any.
func (a *actor) checkOrderOf(rows []shardq.ItemInfo[int]) {
	place := map[string]int{} // of a group among those that are shown
	for _, row := range rows {
		if _, seen := place[row.Group]; !seen && row.State == shardq.Ready {
			place[row.Group] = len(place)
		}
	}
	inOrder := slices.IsSortedFunc(rows, func(x, y shardq.ItemInfo[int]) int {
		return cmp.Or(cmp.Compare(x.Shard, y.Shard), cmp.Compare(place[x.Group], place[y.Group]), a.byAge(x, y))
	})
	if !inOrder {
		a.violated.report("C43", -1, "All shows items out of order")
	}
}

// byAge compares two items of a shard and a group.
func (a *actor) byAge(x, y shardq.ItemInfo[int]) int {
	switch {
	case x.State == shardq.Waiting:
		return x.Deadline.Compare(y.Deadline)
	case x.State == shardq.Ready && a.has(Priorities):
		return cmp.Compare(y.Priority, x.Priority)
	default:
		return x.Since.Compare(y.Since)
	}
}

// checkComplete: what a worker had all the time is shown.
func (a *actor) checkComplete(rows []shardq.ItemInfo[int], before reading) {
	shown := make(map[int]bool, len(rows))
	for _, row := range rows {
		shown[row.Item] = true
	}
	for key := range before {
		if !shown[key] && a.ledger.held(key, before) {
			a.violated.report("C43", key, "All did not show key %d, which a worker had all the time", key)
			return
		}
	}
}
