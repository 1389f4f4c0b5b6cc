package harness

import (
	"cmp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq/stats"
)

// Ages: the calls of OnStuck (C44), and Snapshot and All during other
// operations (C43).

// stuckAfter is the time in processing after which the queue calls OnStuck.
const stuckAfter = 3 * time.Millisecond

// stuck is what the ledger knows about the calls of OnStuck for a key, by its
// own clock.
type stuck struct {
	before atomic.Int64 // the call of the Get that last returned the key
	since  atomic.Int64 // the start of processing in the last call
	called atomic.Int64 // the time of the last call
}

// stuckCalls counts the calls of OnStuck for each key.
type stuckCalls struct {
	mu sync.Mutex
	of map[int]int
}

func (t *stuckCalls) add(key int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[int]int{}
	}
	t.of[key]++
}

func (t *stuckCalls) count(key int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of[key]
}

// onStuck is the hook.
func (r *round) onStuck(row stats.Item[int]) {
	switch {
	case row.Item < 0 || row.State != stats.Processing:
		r.violated.report("C44", -1, "OnStuck was called with %+v", row)
	case row.Item >= r.plan.Keys:
		r.stuckCalls.add(row.Item)
	case r.ledger != nil:
		r.ledger.onStuck(row)
	}
}

// onStuck checks a call of the hook. Only the queue's own stamps can show here
// that a call was too early. They are older than they should be by the lateness
// of the timer, and a late call may name an earlier processing of a key that is
// in processing again. The opening (opening_control.go) checks the time itself.
func (l *ledger) onStuck(row stats.Item[int]) {
	s := &l.keys[row.Item].stuck
	at, since := l.time(), l.at(row.Since)
	switch {
	case s.since.Swap(since) == since:
		l.violated.report("C44", row.Item, "OnStuck was called twice for one processing of key %d", row.Item)
	case at-since < int64(stuckAfter):
		l.violated.report("C44", row.Item, "OnStuck was called for key %d after %v in processing; want %v",
			row.Item, time.Duration(at-since), stuckAfter)
	}
	s.called.Store(at)
}

// keepUntilStuck keeps a key until the queue calls OnStuck for it, or no longer
// has to.
func (c *consumer) keepUntilStuck(key int) {
	s := &c.ledger.keys[key].stuck
	deadline := time.Now().Add(stuckAfter + grace)
	for s.called.Load() < s.before.Load() && !c.queue.ShuttingDown() && !c.violated.stopped.Load() {
		if c.progress.Add(1); time.Now().After(deadline) {
			c.violated.report("C44", key, "key %d was in processing for %v, and OnStuck was not called", key, stuckAfter+grace)
		}
		pause()
	}
}

// A reading is the state of some keys in the ledger before a Snapshot or All.
type reading []struct {
	runs, wanted uint64
	owned, idle  bool
}

// mostRead limits the keys that are compared with a Snapshot or All.
const mostRead = 1024

// read is called before a Snapshot or All. The order of its loads, and of those
// afterwards, is such that a state that is equal in both held throughout.
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

// unusedSince reports whether an ordered key was idle throughout.
func (l *ledger) unusedSince(key int, before reading) bool {
	r := &l.keys[key]
	return classOf(key) == ordered && before[key].idle && r.wanted.Load() == before[key].wanted
}

var states = [...]stats.State{stats.Ready, stats.Processing, stats.Delayed}

// inspect calls Snapshot and All, and checks their results.
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
			a.rangeOverAll(states[a.roll(len(states))], before)
		}
		pause()
	}
}

func (a *actor) takeSnapshot(limit int, before reading) {
	s := a.queue.snapshot(limit)
	for i, rows := range [][]stats.Item[int]{s.Ready, s.Processing, s.Delayed} {
		if len(rows) > limit {
			a.violated.report("C43", -1, "a Snapshot with the limit %d has %d items that are %v", limit, len(rows), states[i])
		}
		a.checkRows(rows, states[i], before)
	}
}

// rangeOverAll ranges over All, and uses the queue meanwhile or breaks off.
func (a *actor) rangeOverAll(state stats.State, before reading) {
	var rows []stats.Item[int]
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
	if state == stats.Processing && len(rows) < most {
		a.checkComplete(rows, before)
	}
}

// checkRows checks that each row is in the requested state, and that there are
// no duplicates.
func (a *actor) checkRows(rows []stats.Item[int], state stats.State, before reading) {
	shown := make(map[int]bool, len(rows))
	for _, row := range rows {
		key := row.Item
		switch {
		case key < 0 || key >= a.plan.Keys:
			a.violated.report("C43", -1, "an item was shown that no actor adds: %+v", row)
		case row.State != state || row.Dirty && state != stats.Processing || row.Deadline.IsZero() && state == stats.Delayed:
			a.violated.report("C43", key, "among items that are %v, this was shown: %+v", state, row)
		case shown[key]:
			a.violated.report("C43", key, "key %d was shown twice as %v", key, state)
		case key >= len(before):
		case a.ledger.unusedSince(key, before):
			a.violated.report("C43", key, "key %d was shown as %v, and was idle throughout", key, state)
		case state != stats.Processing && a.ledger.held(key, before):
			a.violated.report("C43", key, "key %d was shown as %v, and a worker had it throughout", key, state)
		}
		shown[key] = true
		a.checkGroupOf(row)
	}
}

// checkOrderOf checks the order of All: shard by shard; among ready items of a
// queue with groups, group by group; and then the oldest first, or among ready
// items with priorities, the highest priority first.
func (a *actor) checkOrderOf(rows []stats.Item[int]) {
	place := map[string]int{} // among the groups that are shown
	for _, row := range rows {
		if _, seen := place[row.Group]; !seen && row.State == stats.Ready {
			place[row.Group] = len(place)
		}
	}
	for i := 1; i < len(rows); i++ {
		x, y := rows[i-1], rows[i]
		if cmp.Or(cmp.Compare(x.Shard, y.Shard), cmp.Compare(place[x.Group], place[y.Group]), a.byAge(x, y)) > 0 {
			a.violated.report("C43", -1, "All shows items out of order: %+v before %+v", x, y)
			return
		}
	}
}

// byAge compares two items of a shard and a group.
func (a *actor) byAge(x, y stats.Item[int]) int {
	switch {
	case x.State == stats.Delayed:
		return x.Deadline.Compare(y.Deadline)
	case x.State == stats.Ready && a.has(Priorities):
		return cmp.Compare(y.Priority, x.Priority)
	case x.State == stats.Ready && a.plan.Places:
		return 0 // an item may be ready later than those behind its place
	default:
		return x.Since.Compare(y.Since)
	}
}

// checkComplete checks that the rows have all keys that a worker had
// throughout.
func (a *actor) checkComplete(rows []stats.Item[int], before reading) {
	shown := make(map[int]bool, len(rows))
	for _, row := range rows {
		shown[row.Item] = true
	}
	for key := range before {
		if !shown[key] && a.ledger.held(key, before) {
			a.violated.report("C43", key, "All did not show key %d, which a worker had throughout", key)
			return
		}
	}
}
