package main

import (
	"sync"
	"time"
)

// A cause is why an object is to be reconciled.
type cause int

const (
	inInitialList cause = iota
	inLastList
	flooding      // a change by the tenant that floods
	besideList    // a change by another, while others of the initial list are under way
	besideFlood   // while something that the flood changed is under way
	besideNothing // otherwise
	numberOfCauses
)

// A demand asks for an object to be reconciled. The zero demand does not.
type demand struct {
	cause cause
	since time.Time
}

func (d demand) open() bool   { return !d.since.IsZero() }
func (d demand) change() bool { return d.open() && d.cause > inLastList }

// and returns the older of two demands, but a change in preference to a list.
func (d demand) and(later demand) demand {
	if !d.open() || later.change() && !d.change() {
		return later
	}
	return d
}

// An entry is what the ledger knows of an object.
type entry struct {
	fresh   demand // what has been asked since the last turn began
	asked   int    // how often
	begun   demand // what the turn under way serves, or those that failed have not served
	working bool   // a worker has it
}

// A tally counts what happened to the objects of a tenant.
type tally struct {
	changes, reconciles, merged, retries, refused, exhausted int
	delays                                                   *delays
}

// A ledger knows which objects are not as they are desired, and since when, for the report
// and for the end of the work. Nothing is decided by it: the reconciler has the database for
// that. It is safe for concurrent use.
type ledger struct {
	mu       sync.Mutex
	entries  map[Key]*entry
	tallies  map[string]*tally
	delays   [numberOfCauses]*delays
	open     [numberOfCauses]int // objects with such a demand
	overlaps int                 // turns that began beside another of the same object
}

func newLedger() *ledger {
	l := &ledger{entries: map[Key]*entry{}, tallies: map[string]*tally{}}
	for i := range l.delays {
		l.delays[i] = newDelays()
	}
	return l
}

// update changes the entry of an object, and what depends on it.
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

// unsettled returns how many objects have a demand that is neither served nor given up.
func (l *ledger) unsettled() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, open := range l.open {
		n += open
	}
	return n
}

// list notes that an object is in a list.
func (l *ledger) list(key Key, cause cause) {
	l.update(key, func(e *entry, _ *tally) {
		e.asked++
		e.fresh = e.fresh.and(demand{cause, time.Now()})
	})
}

// changed notes that somebody began to change an object at that time. It is to be called
// when the change can be seen, and before its key is queued.
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

// begin notes the begin of a turn. It returns whether anybody asked for it, and what notes
// its end.
func (l *ledger) begin(key Key) (asked bool, end func()) {
	l.update(key, func(e *entry, t *tally) {
		if e.working {
			l.overlaps++
		}
		t.reconciles++
		t.merged += max(0, e.asked-1)
		*e = entry{begun: e.begun.and(e.fresh), working: true}
		asked = e.begun.open()
	})
	return asked, func() { l.update(key, func(e *entry, _ *tally) { e.working = false }) }
}

// converged notes that the object is as it was desired when the turn began, or later.
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

// retried notes that an attempt failed, and another one follows.
func (l *ledger) retried(key Key) {
	l.update(key, func(_ *entry, t *tally) { t.retries++ })
}

// givenUp notes that the object will not be tried again for what was asked before the turn
// began.
func (l *ledger) givenUp(key Key, refused bool) {
	l.update(key, func(e *entry, t *tally) {
		if refused {
			t.refused++
		} else {
			t.exhausted++
		}
		e.begun = demand{}
	})
}
