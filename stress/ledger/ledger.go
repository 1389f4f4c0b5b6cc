// Package ledger keeps the books of a round: one record for each key, which the
// actors write before and after their calls. It knows no queue. No schedule can
// break a check while the queue keeps its promises: an actor records an
// intention before its call, and a result after it.
package ledger

import (
	"sync/atomic"
	"time"

	"github.com/shardq/shardq/stress/report"
)

// A Class says how actors use a key, so that each promise can be checked exactly
// for some keys.
type Class int

const (
	// Free keys are used by all actors in every way.
	Free Class = iota
	// Timed keys are added with delays only. One producer at a time owns a key,
	// until it has run. So its deadline is known.
	Timed
	// Once keys are added at once, by their owner, while they are idle.
	Once
)

var start = time.Now()

// Now returns a stamp. The machine's clock gives stamps that compare across
// goroutines without ordering them, as a shared counter would.
func Now() int64 { return int64(time.Since(start)) }

type Ledger struct {
	Found    *report.Violations
	Time     func() int64 // the time of the queue's clock
	Capacity int64        // 0 unless all adds honor it
	// Blind ledgers check nothing, and share no atomics: these order the calls,
	// and so hide data races from the detector. All their keys are Free.
	Blind bool
	// DropsDelayed is set before the end of a round that drops delayed keys, so
	// that an add with a delay may have no run. Hurried is set before delays are
	// cut short.
	DropsDelayed, Hurried atomic.Bool
	Order                 *Order // nil if the order is not known
	Gates                 *Gates // nil if the ledger is blind

	keys []record
	held atomic.Int64 // the keys that the queue surely holds
}

type record struct {
	holder atomic.Int32 // 1 while a consumer has the key
	// wanted counts the adds that began. landed is the last of them that was
	// surely accepted. served is the last that had begun when the latest run
	// began. excused is the last that may have been taken back.
	wanted, landed, served, excused, runs atomic.Int64
	checks, fence                         atomic.Uint64
	// counted says whether the key counts as held: 0 before the return of its
	// add, 1 after it, 2 from the Get on, 3 from the Done on.
	counted atomic.Int32
	called  atomic.Int64 // the stamp of a pool's call

	// The fields below are of Timed and Once keys. An owner adds claimed to use,
	// which becomes 1 for the run to come when the owner leaves.
	use    atomic.Int32
	owed   atomic.Int32 // the runs to come
	unsure atomic.Bool  // a shutdown may have refused one
	once   atomic.Bool  // the holder must not add the key again
	due    atomic.Int64 // the earliest time at which the key may run
	// began and landing are the stamps before and after the Add of a Once key.
	// landing is 0 during the Add, and -1 if the key was added again.
	began, landing atomic.Int64
	failures       atomic.Int32 // what the limiter must know
	window         window       // the owner's
}

const claimed = 1 << 20

func New(keys int, found *report.Violations, clock func() int64) *Ledger {
	return &Ledger{Found: found, Time: clock, keys: make([]record, keys)}
}

func (l *Ledger) Class(key int) Class {
	if l.Blind || key < 0 {
		return Free
	}
	return [4]Class{Free, Free, Timed, Once}[key%4]
}

func (l *Ledger) of(key int) *record {
	if l.Blind {
		return new(record)
	}
	return &l.keys[key]
}

func (l *Ledger) check(r *record, broken bool, format string, arguments ...any) {
	r.checks.Add(1)
	l.Found.If(broken && !l.Blind, format, arguments...)
}

func (l *Ledger) Checks() (n uint64) {
	for i := range l.keys {
		n += l.keys[i].checks.Load()
	}
	return n
}

// Want is called before an add. It returns the number of the add.
func (l *Ledger) Want(key int) int64 { return l.of(key).wanted.Add(1) }

// Land is called after an add that was surely accepted.
func (l *Ledger) Land(key int, number int64, delayed bool) {
	if !delayed || !l.DropsDelayed.Load() {
		raise(&l.of(key).landed, number)
	}
}

// Excuse enters a call that may have taken back all earlier adds of the key.
func (l *Ledger) Excuse(key int) {
	r := l.of(key)
	raise(&r.excused, r.wanted.Load())
}

// A Sight is what a consumer has read before a Get.
type Sight struct {
	called int64
	lines  []line
}

// Look is called before a Get.
func (l *Ledger) Look(s *Sight) {
	s.called = Now()
	l.Order.read(s)
}

// Stamp stores when a pool asked for the key, and Stamped returns that time to
// the handler, which does not see the pool's call. It tells no order.
func (l *Ledger) Stamp(key int, s *Sight)   { l.of(key).called.Store(s.called) }
func (l *Ledger) Stamped(key int, s *Sight) { *s = Sight{called: l.of(key).called.Load()} }

// Begin is called after the Get of a key.
func (l *Ledger) Begin(key int, s *Sight) {
	r := l.of(key)
	l.check(r, !r.holder.CompareAndSwap(0, 1), "exclusion: key %d was handed out while a consumer had it", key)
	runs, wanted := r.runs.Add(1), r.wanted.Load()
	l.check(r, runs > wanted, "deduplication: key %d has run %d times, and there were %d adds", key, runs, wanted)
	r.served.Store(wanted)
	l.Gates.begin(l, key, r, s.called)
	if r.counted.Swap(2) != 1 {
		l.hold(key, r)
	}
	if class := l.Class(key); class != Free {
		now, due, early := l.Time(), r.due.Load(), !l.Hurried.Load()
		l.check(r, r.owed.Add(-1) < 0 && early, "deduplication: key %d was handed out, and no run was owed", key)
		l.check(r, now < due && early, "delays: key %d was handed out %v early", key, time.Duration(due-now))
		l.Order.begin(l, key, r, s, class)
	}
}

// End is called before the end of a processing.
func (l *Ledger) End(key int) {
	r := l.of(key)
	l.Gates.end(key)
	if r.counted.Store(3); l.Capacity > 0 {
		l.held.Add(-1)
	}
	l.check(r, !r.holder.CompareAndSwap(1, 0), "exclusion: another consumer got key %d before its Done", key)
}

// Fence is called with the fence of a claim.
func (l *Ledger) Fence(key int, fence uint64) {
	r := l.of(key)
	last := r.fence.Swap(fence)
	l.check(r, last >= fence, "claims: key %d has the fence %d after %d", key, fence, last)
}

// hold counts a key that the queue surely holds, until End.
func (l *Ledger) hold(key int, r *record) {
	if l.Capacity > 0 {
		n := l.held.Add(1)
		l.check(r, n > l.Capacity, "capacity: with key %d, %d keys of at most %d are held", key, n, l.Capacity)
	}
}

// Settle checks a queue at rest.
func (l *Ledger) Settle() {
	for key := range l.keys {
		r := &l.keys[key]
		landed, served, owed := r.landed.Load(), r.served.Load(), r.owed.Load()
		l.check(r, max(served, r.excused.Load()) < landed,
			"no lost add: the add number %d of key %d has no run; the last run began after number %d", landed, key, served)
		l.check(r, r.holder.Load() != 0, "drain: at rest, a consumer has key %d", key)
		l.check(r, owed > 0 && !l.DropsDelayed.Load() && !r.unsure.Load(),
			"no lost add: at rest, key %d is still to run %d times", key, owed)
	}
}

// Held returns a key that a consumer has, or -1.
func (l *Ledger) Held() int {
	for key := range l.keys {
		if l.keys[key].holder.Load() != 0 {
			return key
		}
	}
	return -1
}

func raise(a *atomic.Int64, n int64) {
	for old := a.Load(); old < n && !a.CompareAndSwap(old, n); {
		old = a.Load()
	}
}
