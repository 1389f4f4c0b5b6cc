// Package ledger keeps the books of a round: one record for each key, which the
// actors write before and after their calls. It knows no queue. So a check
// depends on nothing but what the actors did and saw.
//
// Each check is written so that no schedule can break it while the queue keeps
// its promises: an actor records an intention before its call, and a result
// after it.
package ledger

import (
	"sync/atomic"
	"time"

	"github.com/shardq/shardq/stress/report"
)

// A Class says how actors use a key. It is chosen by the key, so that each
// promise can be checked exactly for some keys.
type Class int

const (
	// Free keys are used by all actors in every way.
	Free Class = iota
	// Timed keys are added with delays only. One producer at a time owns a key,
	// until it has run. So its deadline is known.
	Timed
	// Once keys are added at once, by their owner, while they are idle. So the
	// moment at which each becomes ready is known.
	Once
)

// ClassOf returns the class of a key.
func ClassOf(key int) Class { return [4]Class{Free, Free, Timed, Once}[key%4] }

// start is the time of stamp 0.
var start = time.Now()

// Now returns a stamp. The machine's clock gives stamps that compare across
// goroutines without ordering them, as a shared counter would.
func Now() int64 { return int64(time.Since(start)) }

// A Ledger has the books of a round. The nil Ledger is that of a blind round:
// it checks nothing. The atomics of a ledger order the calls, and so hide data
// races from the detector. Blind rounds show them.
type Ledger struct {
	// Found gets the violations.
	Found *report.Violations
	// Time returns the time of the queue's clock.
	Time func() int64
	// Capacity limits the keys that are held, if all adds honor it.
	//
	// If zero, there is no limit.
	Capacity int64
	// DropsDelayed is set before the end of a round that drops delayed keys, so
	// that an add with a delay may have no run.
	DropsDelayed atomic.Bool
	// Hurried is set before delays are cut short.
	Hurried atomic.Bool
	// Order checks the order. If nil, the order is not known.
	Order *Order
	// Gates check pauses, rates and limits. They may be nil.
	Gates *Gates

	keys []record
	held atomic.Int64 // the keys that the queue surely holds
}

// record is what the ledger knows of a key.
type record struct {
	holder atomic.Int32 // 1 while a consumer has the key
	// wanted counts the adds that began. landed is the last of them that was
	// surely accepted. served is the last that had begun when the latest run
	// began. excused is the last that may have been taken back.
	wanted, landed, served, excused atomic.Uint64
	runs, checks                    atomic.Uint64
	// counted says whether the key counts as held: 0 before the return of its
	// add, 1 after it, 2 from the Get on, 3 from the Done on.
	counted atomic.Int32

	// The fields below are of Timed and Once keys.

	// use is 0 while nobody owns the key. An owner adds claimed. It becomes 1
	// for the run to come, when the owner has let go of it.
	use atomic.Int32
	// owed is the number of runs to come.
	owed atomic.Int32
	// unsure reports that a shutdown may have refused a run that is owed.
	unsure atomic.Bool
	// once reports that the holder must not add the key again, because its
	// owner may take it back.
	once atomic.Bool
	// due is the earliest time at which the key may run.
	due atomic.Int64
	// began and landing are the stamps before and after the Add of a Once key.
	// landing is 0 during the Add, and -1 if the key was added again.
	began, landing atomic.Int64
	// awaited is the number of hand-outs at the landing.
	awaited atomic.Int64
	// failures is the number that the limiter must know. The holder writes it.
	failures atomic.Int32
	// window is that of the last add. The owner writes it.
	window window
	fence  atomic.Uint64
	called atomic.Int64
}

const claimed = 1 << 20

// New returns a ledger of that many keys.
func New(keys int, found *report.Violations, clock func() int64) *Ledger {
	return &Ledger{Found: found, Time: clock, keys: make([]record, keys)}
}

// wrong counts a check, and returns its result.
func (r *record) wrong(is bool) bool {
	r.checks.Add(1)
	return is
}

// Checks returns the number of checks.
func (l *Ledger) Checks() (n uint64) {
	if l == nil {
		return 0
	}
	for i := range l.keys {
		n += l.keys[i].checks.Load()
	}
	return n
}

// Want is called before an add. It returns the number of the add.
func (l *Ledger) Want(key int) uint64 {
	if l == nil {
		return 0
	}
	return l.keys[key].wanted.Add(1)
}

// Land is called after an add that was surely accepted.
func (l *Ledger) Land(key int, number uint64, delayed bool) {
	if l != nil && !(delayed && l.DropsDelayed.Load()) {
		raise(&l.keys[key].landed, number)
	}
}

// Excuse is called after a call that may have taken back all adds before it.
func (l *Ledger) Excuse(key int) {
	if l != nil {
		raise(&l.keys[key].excused, l.keys[key].wanted.Load())
	}
}

// A Sight is what a consumer has read before a Get.
type Sight struct {
	called int64
	lines  []line
}

// Look is called before a Get.
func (l *Ledger) Look(s *Sight) {
	if l == nil {
		return
	}
	s.called = Now()
	l.Order.read(s)
}

// Begin is called after the Get of a key.
func (l *Ledger) Begin(key int, s *Sight) {
	if l == nil {
		return
	}
	r := &l.keys[key]
	if r.wrong(!r.holder.CompareAndSwap(0, 1)) {
		l.Found.Add("exclusion: key %d was handed out while a consumer had it", key)
	}
	runs := r.runs.Add(1)
	wanted := r.wanted.Load()
	if r.wrong(runs > wanted) {
		l.Found.Add("deduplication: key %d has run %d times, and there were %d adds", key, runs, wanted)
	}
	r.served.Store(wanted)
	l.Gates.begin(l, key, r, s.called)
	if r.counted.Swap(2) != 1 {
		l.hold(key, r)
	}
	if ClassOf(key) != Free {
		l.beginOwned(key, r, s)
	}
}

func (l *Ledger) beginOwned(key int, r *record, s *Sight) {
	if r.wrong(r.owed.Add(-1) < 0) && !l.Hurried.Load() {
		l.Found.Add("deduplication: key %d was handed out, and no run of it was owed", key)
	}
	now, due := l.Time(), r.due.Load()
	if r.wrong(now < due) && !l.Hurried.Load() {
		l.Found.Add("delays: key %d was handed out %v early", key, time.Duration(due-now))
	}
	if ClassOf(key) == Once {
		l.Order.begin(l, key, r, s)
	}
}

// Stamp is called after a ClaimBatch of a pool, with what it saw. Stamped
// returns the stamp to the handler.
func (l *Ledger) Stamp(key int, s *Sight) {
	if l != nil {
		l.keys[key].called.Store(s.called)
	}
}

// Stamped is Look for a handler, which does not see the call of the claim.
func (l *Ledger) Stamped(key int, s *Sight) {
	if l != nil {
		s.called = l.keys[key].called.Load()
		s.lines = s.lines[:0] // no order
	}
}

// End is called before the end of a processing.
func (l *Ledger) End(key int) {
	if l == nil {
		return
	}
	r := &l.keys[key]
	l.Gates.end(key)
	r.counted.Store(3)
	if l.Capacity > 0 {
		l.held.Add(-1)
	}
	if r.wrong(!r.holder.CompareAndSwap(1, 0)) {
		l.Found.Add("exclusion: another consumer got key %d before its Done", key)
	}
}

// Fence is called with the fence of a claim.
func (l *Ledger) Fence(key int, fence uint64) {
	if l == nil {
		return
	}
	r := &l.keys[key]
	if last := r.fence.Swap(fence); r.wrong(last >= fence) {
		l.Found.Add("claims: key %d has the fence %d after %d", key, fence, last)
	}
}

// hold counts a key that the queue surely holds, until End.
func (l *Ledger) hold(key int, r *record) {
	if l.Capacity == 0 {
		return
	}
	if n := l.held.Add(1); r.wrong(n > l.Capacity) {
		l.Found.Add("capacity: with key %d, %d keys are held of %d, and all adds honor the capacity", key, n, l.Capacity)
	}
}

// Settle checks a queue at rest.
func (l *Ledger) Settle() {
	if l == nil {
		return
	}
	for key := range l.keys {
		r := &l.keys[key]
		landed, served := r.landed.Load(), r.served.Load()
		if r.wrong(max(served, r.excused.Load()) < landed) {
			l.Found.Add("no lost add: the add number %d of key %d has no run; the last run began after number %d", landed, key, served)
		}
		if r.wrong(r.holder.Load() != 0) {
			l.Found.Add("drain: at rest, a consumer has key %d", key)
		}
		if owed := r.owed.Load(); r.wrong(owed > 0 && !l.DropsDelayed.Load() && !r.unsure.Load()) {
			l.Found.Add("no lost add: at rest, key %d is still to run %d times", key, owed)
		}
	}
}

// Held returns a key that a consumer has, or -1.
func (l *Ledger) Held() int {
	if l != nil {
		for key := range l.keys {
			if l.keys[key].holder.Load() != 0 {
				return key
			}
		}
	}
	return -1
}

// raise sets a to n if n is greater.
func raise(a *atomic.Uint64, n uint64) {
	for old := a.Load(); old < n && !a.CompareAndSwap(old, n); {
		old = a.Load()
	}
}
