package harness

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Violation is a promise that was not kept.
type Violation struct {
	// Clause is the promise's number in docs/reference/semantics.md, or a name where it has none:
	// "Stats" (section G), and "data race".
	Clause  string
	Message string
	Key     int    // -1: none in particular
	History string // of the key, as far as it matters

	at int64 // when it was so
}

func (v Violation) String() string {
	text := v.Clause + " violated: " + v.Message
	if v.History != "" {
		text += "\n" + strings.TrimSuffix(v.History, "\n")
	}
	return text
}

// Keys are of three classes, by key % 4, so that for each promise there are keys of
// which it can be checked sharply.
const (
	// free keys are used in every way (two of four).
	free = iota
	// delayed keys are only added with delays, by one producer at a time, who is
	// through before the first of them ends: so the key comes once, and it is known
	// when it is due.
	delayed
	// ordered keys are added only when they are idle, by Add: so it is known when
	// each became ready.
	ordered
)

//go:norace
func classOf(key int) int { return [4]int{free, free, delayed, ordered}[key%4] }

// start is where the stamps of this process start.
var start = time.Now()

// now is a stamp. The clock of the machine gives stamps that compare across
// goroutines without ordering them, as a shared counter would: the race detector
// sees what it would see without.
func now() int64 { return int64(time.Since(start)) }

// stampOf is what now was, or will be, at a moment.
func stampOf(t time.Time) int64 { return int64(t.Sub(start)) }

// ledger keeps the books by which a round is judged while it runs.
type ledger struct {
	keys  []record
	order *order // nil if it cannot be seen
	// time is what deadlines are measured by: now, or a fake clock; at is what it says
	// of a moment.
	time     func() int64
	at       func(time.Time) int64
	lateness *lateness
	violated *violations
	// hurried is set before a drain ends delays before their time.
	hurried atomic.Bool
	// inside counts keys that the queue surely holds, where that is bounded.
	inside   atomic.Int64
	capacity int64 // 0: it is not
	misuse   bool
	groupOf  func(key int) uint64
	inHand   *inHand     // nil if groups have no limit
	turns    *groupTurns // nil if they cannot be seen
}

// misused reports whether somebody may end a worker's turn at a key by a Done too many.
func (l *ledger) misused(key int) bool { return l.misuse && classOf(key) == ordered }

// record is what the ledger knows of a key.
type record struct {
	// owned is 1 while a consumer has the key between Get and Done.
	owned atomic.Int32
	// wanted counts the adds that began. landed is the last of those that were
	// surely not dropped, served the last that the latest run found to have begun.
	wanted, landed, served atomic.Uint64
	// ended counts the adds that have returned. excused is the last that a Cancel, or a
	// drain that drops what waits, may have taken back.
	ended, excused atomic.Uint64
	// canceled is what is known of a Cancel.
	canceled atomic.Pointer[cancellation]
	// runs counts the processings.
	runs atomic.Uint64
	// policied says, for a delayed key, that a policy had a say in when it is due.
	policied atomic.Bool
	// limited is the delay that the limiter had last, for a key with a policy.
	limited atomic.Int64
	stuck   stuck
	// use says, for a delayed or ordered key, whether it can be claimed.
	use atomic.Int32
	// due is, for a delayed key, the earliest deadline asked for.
	due atomic.Int64
	// began and landing are the stamps around an ordered key's Add; landing is 0 while
	// that is under way.
	began, landing atomic.Int64
	// awaited is how many Gets there had been when that returned.
	awaited atomic.Int64
	// fence is that of the last claim.
	fence atomic.Uint64
}

// A delayed or ordered key is claimed by a producer; it can be claimed again once the
// producer has added it and noted when, and the consumer has said its Done, in either
// order. If it is not known how often the key will come, the producer keeps it for good.
const (
	unused  = 0
	claimed = 1 << 20
)

func newLedger(p Plan, violated *violations) *ledger {
	l := &ledger{keys: make([]record, p.Keys), time: now, at: stampOf, lateness: &lateness{}, violated: violated}
	l.misuse = p.Mix.Has(Misuse)
	l.groupOf, l.inHand, l.turns = p.groupOf, newInHand(p), newGroupTurns(p)
	if p.Strict {
		l.capacity = int64(p.Capacity)
	}
	if (p.Shards == 1 || p.Grouped) && !p.Mix.Has(Workers) {
		l.order = newOrder(p.lines())
	}
	return l
}

// want is called before an add, and returns its number; land after it, if it was
// surely not dropped.
func (l *ledger) want(key int) uint64 { return l.keys[key].wanted.Add(1) }

func (l *ledger) land(key int, number uint64) { raise(&l.keys[key].landed, number) }

func (r *record) claim() bool { return r.use.CompareAndSwap(unused, claimed) }

// comesOnce is called by the claimer, and came by the consumer.
func (r *record) comesOnce() { r.use.Add(1 - claimed) }
func (r *record) came()      { r.use.Add(-1) }

// wantIn notes the deadline of an add of a claimed key with a delay, before the queue
// knows of it, and returns it.
func (l *ledger) wantIn(key int, delay time.Duration) (deadline int64) {
	due := &l.keys[key].due // only the claimer writes it
	deadline = l.time() + int64(delay)
	due.Store(min(due.Load(), deadline))
	return deadline
}

// limited is told of each delay of the limiter.
func (l *ledger) limited(key int, delay time.Duration) {
	switch {
	case key < 0 || key >= len(l.keys) || classOf(key) != delayed:
	case l.keys[key].policied.Load():
		l.keys[key].limited.Store(int64(delay))
	default:
		l.wantIn(key, delay)
	}
}

// begin is called after a Get that was called at some moment. For a delayed key it
// returns the time by which it was judged.
func (l *ledger) begin(key int, group uint64, before frontiers, called int64) (clock int64) {
	r := &l.keys[key]
	l.checkCanceled(key, r, called)
	r.runs.Add(1) // first: see reading
	if !r.owned.CompareAndSwap(0, 1) {
		l.violated.report("C1", key, "key %d was handed out while a worker had it", key)
	}
	r.served.Store(r.wanted.Load())
	l.takeInHand(key)
	l.countTurn(key, r)
	if classOf(key) == free {
		l.enter(key)
	}
	switch classOf(key) {
	case delayed:
		return l.checkDue(key, r)
	case ordered:
		l.checkOrder(key, r, group, before)
	}
	return 0
}

// end is called before the Done.
func (l *ledger) end(key int) {
	l.leave(key)
	l.putOutOfHand(key)
	if !l.keys[key].owned.CompareAndSwap(1, 0) {
		l.violated.report("C1", key, "key %d was handed out to somebody else before its Done", key)
	}
}

func (l *ledger) checkDue(key int, r *record) (clock int64) {
	clock = l.time()
	late := clock - r.due.Load()
	if late < 0 && l.hurried.Load() {
		return clock
	}
	if late < 0 && r.policied.Load() {
		l.violated.report("C38", key, "key %d came %v before the earliest deadline that can count (or twice for the one before)",
			key, time.Duration(-late))
		return clock
	}
	if late < 0 {
		l.violated.report("C19", key, "key %d came %v before its deadline (or, which is C21, twice for the one before)",
			key, time.Duration(-late))
		return clock
	}
	l.lateness.add(time.Duration(late))
	return clock
}

// settle checks what can be said of a queue that was drained: every add that landed
// had a run.
func (l *ledger) settle() {
	for key := range l.keys {
		r := &l.keys[key]
		if served, landed := r.served.Load(), r.landed.Load(); r.unserved() {
			l.violated.report("C2", key, "key %d: add number %d has no run after it; the last run began after add number %d",
				key, landed, served)
		}
		if r.owned.Load() != 0 {
			l.violated.report("C12", key, "key %d is still in the hands of a worker after the drain", key)
		}
	}
}

// unserved reports whether an add that landed has had no run, and nobody took it back.
func (r *record) unserved() bool { return max(r.served.Load(), r.excused.Load()) < r.landed.Load() }

// raise sets a to n if that is more.
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

// reportAt is report, of what was so at some moment before.
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

// explain lets a function complete each violation, when nobody reports any more.
func (v *violations) explain(f func(*Violation)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range v.found {
		f(&v.found[i])
	}
}

// explained is report, with a history.
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
