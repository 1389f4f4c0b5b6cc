package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
)

// ledger keeps the books by which a round is judged. It is written to by all
// goroutines, and is as lock-free as the queue would like its users to be.
type ledger struct {
	keys       []record
	runs       atomic.Uint64
	extraDones atomic.Uint64
	lateness   atomic.Int64 // the greatest, in nanoseconds

	mu        sync.Mutex
	violation error // the first
}

type record struct {
	// owned is 1 while a consumer has the key between Get and Done.
	owned atomic.Int32
	// wanted counts the adds that began; served is the count that the latest run
	// found when it began.
	wanted, served atomic.Uint64
	// forgiven counts the adds that a shutdown may have dropped.
	forgiven atomic.Uint64
	// due is when the delay of an odd key ends, in nanoseconds since start; 0 is
	// none.
	due atomic.Int64
}

var start = time.Now()

func newLedger(keys int) *ledger { return &ledger{keys: make([]record, keys)} }

// want is called before an add.
func (l *ledger) want(key int) { l.keys[key].wanted.Add(1) }

// forgive is called after an add that began before a shutdown and may have been
// dropped by it.
func (l *ledger) forgive(key int) { l.keys[key].forgiven.Add(1) }

// wantAfter is called before an AddAfter of an odd key, and says whether to call it:
// an odd key has one delay at a time, so that it is known when it is due.
func (l *ledger) wantAfter(key int, delay time.Duration) bool {
	if !l.keys[key].due.CompareAndSwap(0, int64(time.Since(start)+delay)) {
		return false
	}
	l.want(key)
	return true
}

// begin is called after a Get, end before the Done.
func (l *ledger) begin(key int) {
	r := &l.keys[key]
	if !r.owned.CompareAndSwap(0, 1) {
		l.violate("C1", "key %d was handed out twice at once", key)
	}
	r.served.Store(r.wanted.Load())
	l.runs.Add(1)
	if key%2 == 1 {
		l.checkDue(key, r)
	}
}

func (l *ledger) checkDue(key int, r *record) {
	late := int64(time.Since(start)) - r.due.Swap(0)
	if late < 0 {
		l.violate("C19", "key %d came %v early", key, time.Duration(-late))
	}
	for {
		greatest := l.lateness.Load()
		if late <= greatest || l.lateness.CompareAndSwap(greatest, late) {
			return
		}
	}
}

func (l *ledger) end(key int) {
	if !l.keys[key].owned.CompareAndSwap(1, 0) {
		l.violate("C1", "key %d was taken over while in processing", key)
	}
}

func (l *ledger) violate(clause, format string, arguments ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.violation == nil {
		l.violation = fmt.Errorf("%s violated: "+format, append([]any{clause}, arguments...)...)
	}
}

// settle judges a drained queue.
func (l *ledger) settle(queue *shardq.Queue[int]) (account, error) {
	stats := queue.Stats()
	for key := range l.keys {
		r := &l.keys[key]
		if r.served.Load()+r.forgiven.Load() < r.wanted.Load() {
			l.violate("C2", "key %d: add number %d has no run after it, the last began after number %d",
				key, r.wanted.Load(), r.served.Load())
		}
	}
	if stats.Ready != 0 || stats.Processing != 0 || stats.Waiting != 0 {
		l.violate("C12", "after the drain %d are ready, %d in processing, %d waiting",
			stats.Ready, stats.Processing, stats.Waiting)
	}
	if stats.Added != l.runs.Load() {
		l.violate("C3", "%d adds asked for a run, and there were %d runs", stats.Added, l.runs.Load())
	}
	if stats.Misused != l.extraDones.Load() {
		l.violate("C15", "%d Dones too many were made, %d counted", l.extraDones.Load(), stats.Misused)
	}
	return account{
		rounds: 1, runs: l.runs.Load(), merged: stats.Merged, fired: stats.Fired, misused: stats.Misused,
		lateness: time.Duration(l.lateness.Load()),
	}, l.violation
}

// account is what a round, or all of them, did.
type account struct {
	rounds                       int
	runs, merged, fired, misused uint64
	lateness                     time.Duration
}

func (a *account) add(b account) {
	a.rounds += b.rounds
	a.runs += b.runs
	a.merged += b.merged
	a.fired += b.fired
	a.misused += b.misused
	a.lateness = max(a.lateness, b.lateness)
}

func (a account) String() string {
	return fmt.Sprintf("%d runs, %d adds merged, %d delays fired (latest by %v), %d Dones too many",
		a.runs, a.merged, a.fired, a.lateness.Round(time.Microsecond), a.misused)
}
