package harness

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Violation is a broken promise.
type Violation struct {
	// Clause is the number of the promise in docs/reference/semantics.md, or a
	// name if it has none: "Stats" (section G), or "data race".
	Clause  string
	Message string
	Key     int    // -1: no particular key
	History string // the relevant events of the key

	at int64 // the stamp of the violation
}

func (v Violation) String() string {
	text := v.Clause + " violated: " + v.Message
	if v.History != "" {
		text += "\n" + strings.TrimSuffix(v.History, "\n")
	}
	return text
}

// Keys are in three classes, by key % 4, so that each promise can be checked
// exactly for some keys.
const (
	// free keys are used in every way (two of four).
	free = iota
	// delayed keys are added only with delays, by one producer at a time, which
	// finishes before the first delay expires. So the key runs once, and its
	// deadline is known.
	delayed
	// ordered keys are added only when they are idle, by Add. So the moment
	// when each becomes ready is known.
	ordered
)

//go:norace
func classOf(key int) int { return [4]int{free, free, delayed, ordered}[key%4] }

// start is the time of stamp 0.
var start = time.Now()

// now returns a stamp. The clock of the machine gives stamps that compare
// across goroutines without ordering them, as a shared counter would. The race
// detector sees what it would see without stamps.
func now() int64 { return int64(time.Since(start)) }

// stampOf returns the stamp of a moment.
func stampOf(t time.Time) int64 { return int64(t.Sub(start)) }

// ledger keeps the records by which a round is checked while it runs.
type ledger struct {
	keys  []record
	order *order // nil if the order is invisible
	// time returns the time by which deadlines are measured, now or a fake
	// clock. at converts a moment to it.
	time     func() int64
	at       func(time.Time) int64
	lateness *lateness
	violated *violations
	// hurried is set before a drain runs delayed items early.
	hurried atomic.Bool
	// surelyHeld counts the keys that the queue surely holds, if there is a
	// capacity.
	surelyHeld atomic.Int64
	capacity   int64 // 0: no capacity
	misuse     bool
	// retried reports whether workers add keys again that no actor adds.
	retried  bool
	groupOf  func(key int) uint64
	inFlight *inFlight   // nil if groups have no limit
	turns    *groupTurns // nil if the turns are invisible
	gates    *gates      // nil if nothing is paused and there are no rates
}

// misused reports whether a surplus Done may end the turn of a worker at a key.
func (l *ledger) misused(key int) bool { return l.misuse && classOf(key) == ordered }

// record is what the ledger knows about a key.
type record struct {
	// owned is 1 while a consumer has the key between Get and Done.
	owned atomic.Int32
	// wanted counts the adds that began. landed is the last of them that was
	// surely not dropped. served is the last that had begun at the latest run.
	wanted, landed, served atomic.Uint64
	// ended counts the adds that have returned. excused is the last that may
	// have been removed by a Cancel, or by a drain that drops delayed items.
	ended, excused atomic.Uint64
	// canceled is the last Cancel.
	canceled atomic.Pointer[cancellation]
	// runs counts the processings.
	runs atomic.Uint64
	// policied reports, for a delayed key, whether a policy affects its
	// deadline.
	policied atomic.Bool
	// limited is the last delay of the limiter, for a key with a policy.
	limited atomic.Int64
	stuck   stuck
	// use says, for a delayed or ordered key, whether it can be claimed.
	use atomic.Int32
	// due is, for a delayed key, the earliest requested deadline.
	due atomic.Int64
	// began and landing are the stamps before and after an ordered key's Add.
	// landing is 0 during the Add.
	began, landing atomic.Int64
	// awaited is the number of Gets when the Add returned.
	awaited atomic.Int64
	windows windowRecord
	// fence is the fence of the last claim.
	fence atomic.Uint64
}

// A producer claims a delayed or ordered key. The key can be claimed again
// after the producer has added it and recorded when, and the consumer has
// called Done, in either order. If the number of runs is unknown, the producer
// keeps the key forever.
const (
	unused  = 0
	claimed = 1 << 20
)

func newLedger(p Plan, violated *violations) *ledger {
	l := &ledger{keys: make([]record, p.Keys), time: now, at: stampOf, lateness: &lateness{}, violated: violated}
	l.misuse, l.retried = p.Mix.Has(Misuse), p.Mix.Has(Workers)
	l.groupOf, l.inFlight, l.turns = p.groupOf, newInFlight(p), newGroupTurns(p)
	if p.Strict {
		l.capacity = int64(p.Capacity)
	}
	if (p.Shards == 1 || p.Grouped) && !p.Mix.Has(Workers) {
		l.order = newOrder(p.lines())
	}
	return l
}

// want is called before an add, and returns its number. land is called after an
// add that was surely not dropped.
func (l *ledger) want(key int) uint64 { return l.keys[key].wanted.Add(1) }

func (l *ledger) land(key int, number uint64) { raise(&l.keys[key].landed, number) }

func (r *record) claim() bool {
	if !r.use.CompareAndSwap(unused, claimed) {
		return false
	}
	r.windows.refused.Store(false)
	return true
}

// runsOnce is called by the claiming producer, and hasRun by the consumer.
func (r *record) runsOnce() { r.use.Add(1 - claimed) }
func (r *record) hasRun()   { r.use.Add(-1) }

// wantIn records the deadline of a delayed add of a claimed key, before the
// queue sees it, and returns it.
func (l *ledger) wantIn(key int, delay time.Duration) (deadline int64) {
	due := &l.keys[key].due // only the claiming producer writes it
	deadline = l.time() + int64(delay)
	due.Store(min(due.Load(), deadline))
	return deadline
}

// limited is called with each delay of the limiter.
func (l *ledger) limited(key int, delay time.Duration) {
	switch {
	case key < 0 || key >= len(l.keys) || classOf(key) != delayed:
	case l.keys[key].policied.Load():
		l.keys[key].limited.Store(int64(delay))
	default:
		l.wantIn(key, delay)
	}
}

// begin is called after a Get. called is the stamp of its call. For a delayed
// key begin returns the time by which it was checked.
func (l *ledger) begin(key int, group uint64, before frontiers, called int64) (clock int64) {
	r := &l.keys[key]
	l.checkCanceled(key, r, called)
	r.runs.Add(1) // first: see reading
	if !r.owned.CompareAndSwap(0, 1) {
		l.violated.report("C1", key, "key %d was handed out while a worker had it", key)
	}
	r.served.Store(r.wanted.Load())
	l.checkStopped(key, called)
	l.checkRates(key, called)
	l.countTaken(key)
	l.countTurn(key, r)
	if classOf(key) == free {
		l.countHeld(key)
	}
	switch classOf(key) {
	case delayed:
		l.checkRefused(key, r)
		return l.checkDue(key, r)
	case ordered:
		l.checkRefused(key, r)
		l.checkOrder(key, r, group, before)
	}
	return 0
}

// end is called before the Done.
func (l *ledger) end(key int) {
	l.countReleased(key)
	l.countDone(key)
	if !l.keys[key].owned.CompareAndSwap(1, 0) {
		l.violated.report("C1", key, "key %d was handed out to another worker before its Done", key)
	}
}

func (l *ledger) checkDue(key int, r *record) (clock int64) {
	clock = l.time()
	late := clock - r.due.Load()
	if late < 0 && l.hurried.Load() {
		return clock
	}
	if late < 0 && r.policied.Load() {
		l.violated.report("C38", key, "key %d was handed out %v before its earliest possible deadline (or twice for the previous one)",
			key, time.Duration(-late))
		return clock
	}
	if late < 0 {
		l.violated.report("C19", key, "key %d was handed out %v before its deadline (or, by C21, twice for the previous one)",
			key, time.Duration(-late))
		return clock
	}
	l.lateness.add(time.Duration(late))
	return clock
}

// settle checks a queue that was drained: every add that landed had a run.
func (l *ledger) settle() {
	for key := range l.keys {
		r := &l.keys[key]
		if served, landed := r.served.Load(), r.landed.Load(); r.unserved() {
			l.violated.report("C2", key, "key %d: add number %d has no run after it; the last run began after add number %d",
				key, landed, served)
		}
		if r.owned.Load() != 0 {
			l.violated.report("C12", key, "key %d is still in flight after the drain", key)
		}
	}
}

// unserved reports whether an add that landed has had no run, and was not
// canceled.
func (r *record) unserved() bool { return max(r.served.Load(), r.excused.Load()) < r.landed.Load() }

// raise sets a to n if n is greater.
func raise(a *atomic.Uint64, n uint64) {
	for {
		old := a.Load()
		if old >= n || a.CompareAndSwap(old, n) {
			return
		}
	}
}

// violations collects the first violation of each clause.
type violations struct {
	stopped atomic.Bool // whether there is any

	mu    sync.Mutex
	found []Violation
}

func (v *violations) report(clause string, key int, format string, arguments ...any) {
	v.reportAt(now(), clause, key, format, arguments...)
}

// reportAt is report for a violation at an earlier stamp.
func (v *violations) reportAt(at int64, clause string, key int, format string, arguments ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, known := range v.found {
		if known.Clause == clause {
			return
		}
	}
	v.found = append(v.found, Violation{Clause: clause, Message: fmt.Sprintf(format, arguments...), Key: key, at: at})
	v.stopped.Store(true)
}

// explain completes each violation, after all actors have ended.
func (v *violations) explain(f func(*Violation)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range v.found {
		f(&v.found[i])
	}
}

// explained is report with a history.
func (v *violations) explained(clause string, key int, message, history string) {
	v.report(clause, key, "%s", message)
	v.explain(func(known *Violation) {
		if known.Clause == clause && known.Message == message {
			known.History = history
		}
	})
}

func (v *violations) all() []Violation {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.found
}
