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

type Ledger struct {
	Found *report.Violations
	// Blind ledgers check nothing, and share no atomics: these order the calls,
	// and so hide data races from the detector. They own no keys.
	Blind bool
	// DropsDelayed is set before the end of a round that drops delayed keys, so
	// that an add with a delay may have no run. Hurried is set before delays are
	// cut short.
	DropsDelayed, Hurried atomic.Bool
	Limits                []int // the greatest limits of groups, or 0

	keys    []record
	holding []atomic.Int64 // the keys of each group that consumers have
}

type record struct {
	holder atomic.Int32 // 1 while a consumer has the key
	// wanted counts the adds that began. landed is the last of them that was
	// surely accepted. served is the last that had begun when the latest run
	// began. excused is the last that may have been taken back.
	wanted, landed, served, excused, runs atomic.Int64
	fence                                 atomic.Uint64

	// The fields below are of owned keys. An owner adds claimed to use, which
	// becomes 1 for the run to come when the owner leaves.
	use      atomic.Int32
	owed     atomic.Int32 // the runs to come
	unsure   atomic.Bool  // a shutdown may have refused one
	once     atomic.Bool  // the holder must not add the key again
	due      atomic.Int64 // the earliest time at which the key may run
	failures atomic.Int32 // what the limiter must know
}

const claimed = 1 << 20

// New returns the ledger of a number of keys, and of groups with these limits.
func New(keys int, limits []int, found *report.Violations) *Ledger {
	return &Ledger{
		Found: found, Limits: limits, keys: make([]record, keys), holding: make([]atomic.Int64, len(limits)),
	}
}

// Now is the time of a ledger, and of a queue with the real clock.
func Now() int64 { return int64(time.Since(start)) }

var start = time.Now()

// Owned reports whether a key is added by one producer at a time, its owner,
// until it has run. So the runs to come, and their times, are known. Other keys
// are used by all actors in every way.
func (l *Ledger) Owned(key int) bool { return !l.Blind && key%2 == 1 }

// GroupOf returns the group of a key, if there are groups.
func (l *Ledger) GroupOf(key int) int { return key / 2 % len(l.Limits) }

func (l *Ledger) of(key int) *record {
	if l.Blind {
		return new(record)
	}
	return &l.keys[key]
}

func (l *Ledger) check(broken bool, format string, arguments ...any) {
	l.Found.If(broken && !l.Blind, format, arguments...)
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

// Begin is called after the Get of a key.
func (l *Ledger) Begin(key int) {
	r := l.of(key)
	l.check(!r.holder.CompareAndSwap(0, 1), "exclusion: key %d was handed out while a consumer had it", key)
	runs, wanted := r.runs.Add(1), r.wanted.Load()
	l.check(runs > wanted, "deduplication: key %d has run %d times, and there were %d adds", key, runs, wanted)
	r.served.Store(wanted)
	if len(l.Limits) > 0 && !l.Blind {
		group := l.GroupOf(key)
		n, limit := l.holding[group].Add(1), l.Limits[group]
		l.check(limit > 0 && int(n) > limit,
			"limits: with key %d, consumers have %d keys of group %d, whose limit is %d", key, n, group, limit)
	}
	if l.Owned(key) {
		left, early := r.due.Load()-Now(), !l.Hurried.Load()
		l.check(r.owed.Add(-1) < 0 && early, "deduplication: key %d was handed out, and no run was owed", key)
		l.check(left > 0 && early, "delays: key %d was handed out %v early", key, time.Duration(left))
	}
}

// End is called before the end of a processing.
func (l *Ledger) End(key int) {
	r := l.of(key)
	if len(l.Limits) > 0 && !l.Blind {
		l.holding[l.GroupOf(key)].Add(-1)
	}
	l.check(!r.holder.CompareAndSwap(1, 0), "exclusion: another consumer got key %d before its Done", key)
}

// Fence is called with the fence of a claim.
func (l *Ledger) Fence(key int, fence uint64) {
	r := l.of(key)
	last := r.fence.Swap(fence)
	l.check(last >= fence, "claims: key %d has the fence %d after %d", key, fence, last)
}

// Settle checks a queue at rest.
func (l *Ledger) Settle() {
	for key := range l.keys {
		r := &l.keys[key]
		landed, served, owed := r.landed.Load(), r.served.Load(), r.owed.Load()
		l.check(max(served, r.excused.Load()) < landed,
			"no lost add: the add number %d of key %d has no run; the last run began after number %d", landed, key, served)
		l.check(r.holder.Load() != 0, "drain: at rest, a consumer has key %d", key)
		l.check(owed > 0 && !l.DropsDelayed.Load() && !r.unsure.Load(),
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
