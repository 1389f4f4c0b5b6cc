package main

import (
	"sync"
	"time"
)

// A cause is the reason why an object must be reconciled.
type cause int

const (
	inInitialList cause = iota
	inLastList
	flooding      // a change of the tenant that floods
	besideList    // a change of another, while others of the initial list are unsettled
	besideFlood   // while changes of the flood are unsettled
	besideNothing // otherwise
	numberOfCauses
)

// A demand requests that an object is reconciled. The zero demand requests
// nothing.
type demand struct {
	cause cause
	since time.Time
}

func (d demand) open() bool   { return !d.since.IsZero() }
func (d demand) change() bool { return d.open() && d.cause > inLastList }

// and returns the older of two demands. A change takes precedence over a list.
func (d demand) and(later demand) demand {
	if !d.open() || later.change() && !d.change() {
		return later
	}
	return d
}

// An entry is what the ledger knows about an object.
type entry struct {
	fresh   demand // the requests since the last turn began
	asked   int    // their number
	begun   demand // those of the current turn, and of failed turns before it
	working bool   // a worker has the object
}

// A tally counts the events of the objects of a tenant.
type tally struct {
	changes, reconciles, deduplicated, retries, refused, exhausted int
	delays                                                         *delays
}

// A ledger knows the objects that are not in their desired state, and since
// when, for the report and for the end of the run. It decides nothing: the
// reconciler reads the database. It is safe for concurrent use.
type ledger struct {
	mu       sync.Mutex
	entries  map[Key]*entry
	tallies  map[string]*tally
	delays   [numberOfCauses]*delays
	open     [numberOfCauses]int // the number of objects with such a demand
	overlaps int                 // turns that began during another of the same object
}

func newLedger() *ledger {
	l := &ledger{entries: map[Key]*entry{}, tallies: map[string]*tally{}}
	for i := range l.delays {
		l.delays[i] = newDelays()
	}
	return l
}

// update changes the entry of an object and the counts.
func (l *ledger) update(key Key, change func(*entry, *tally)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.entries[key] == nil {
		l.entries[key] = &entry{}
	}
	if l.tallies[key.Tenant] == nil {
		l.tallies[key.Tenant] = &tally{delays: newDelays()}
	}
	entry := l.entries[key]
	l.count(entry, -1)
	change(entry, l.tallies[key.Tenant])
	l.count(entry, +1)
}

func (l *ledger) count(e *entry, by int) {
	if d := e.begun.and(e.fresh); d.open() {
		l.open[d.cause] += by
	}
}

// unsettled returns the number of objects with a demand that is neither served
// nor discarded.
func (l *ledger) unsettled() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, open := range l.open {
		n += open
	}
	return n
}

// list records that an object is in a list.
func (l *ledger) list(key Key, cause cause) {
	l.update(key, func(e *entry, _ *tally) {
		e.asked++
		e.fresh = e.fresh.and(demand{cause, time.Now()})
	})
}

// changed records a change of an object that began at a time. The caller calls
// it after the change is visible, and before it adds the key.
func (l *ledger) changed(key Key, since time.Time) {
	l.update(key, func(e *entry, t *tally) {
		t.changes++
		e.asked++
		e.fresh = e.fresh.and(demand{l.situation(key), since})
	})
}

func (l *ledger) situation(key Key) cause {
	switch {
	case key.Tenant == floodingTenant:
		return flooding
	case l.open[inInitialList] > 0:
		return besideList
	case l.open[flooding] > 0:
		return besideFlood
	default:
		return besideNothing
	}
}

// begin records the start of a turn. It reports whether the turn was requested,
// and returns a function that records its end.
func (l *ledger) begin(key Key) (asked bool, end func()) {
	l.update(key, func(e *entry, t *tally) {
		if e.working {
			l.overlaps++
		}
		t.reconciles++
		t.deduplicated += max(0, e.asked-1)
		*e = entry{begun: e.begun.and(e.fresh), working: true}
		asked = e.begun.open()
	})
	return asked, func() { l.update(key, func(e *entry, _ *tally) { e.working = false }) }
}

// converged records that the object is in the state that was desired when the
// turn began, or a later one.
func (l *ledger) converged(key Key) {
	l.update(key, func(e *entry, t *tally) {
		if e.begun.open() {
			l.delays[e.begun.cause].record(time.Since(e.begun.since))
		}
		if e.begun.change() {
			t.delays.record(time.Since(e.begun.since))
		}
		e.begun = demand{}
	})
}

// retried records that an attempt failed and another follows.
func (l *ledger) retried(key Key) {
	l.update(key, func(_ *entry, t *tally) { t.retries++ })
}

// discarded records that the requests before the turn are discarded.
func (l *ledger) discarded(key Key, refused bool) {
	l.update(key, func(e *entry, t *tally) {
		if refused {
			t.refused++
		} else {
			t.exhausted++
		}
		e.begun = demand{}
	})
}
