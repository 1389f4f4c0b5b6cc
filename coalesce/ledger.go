package coalesce

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq/stats"
)

// A ledger lists what is not done of a source: a node for each value that has
// events of it, by its lowest offset.
type ledger struct {
	pure, mixed origin // the latter of values with others, which came from no source
	name        string
	closing     atomic.Bool   // no Put is accepted
	dropped     atomic.Bool   // final is safe
	looked      atomic.Bool   // the source reads the clock before the next event
	ended       chan struct{} // closed once the source is closing and nothing is in the list

	// Of the events that were read: the highest offset, and the number. An event
	// changes them under the lock of its key's stripe. So others need all these locks,
	// and counting costs a Put no atomic operation.
	read   int64
	events uint32

	mu         sync.Mutex // guards the fields below; a leaf, also under stripes' locks
	nodes      []node     // those before head are done, and perhaps others
	head, live int
	done       int64 // the highest offset of the values that are done, and of those skipped
	final      int64
	over       bool // ended is closed
}

type node struct {
	lowest int64
	number uint32 // of events before it
	read   uint32 // when it was put, in ageUnits, or isDone with the lowest bit
}

const (
	isDone  = 1
	ageUnit = 5 * time.Millisecond
)

// newLedger returns a ledger that has read all offsets below from.
func newLedger(name string, from int64) *ledger {
	l := &ledger{name: name, ended: make(chan struct{}), read: from - 1, done: from - 1}
	l.pure.ledger, l.mixed.ledger = l, l
	return l
}

// countLocked is called with the lock of a stripe.
func (l *ledger) countLocked(offset int64) {
	l.read = offset
	l.events++
}

// insertLocked is called with the lock of a stripe. The offset is higher than those
// before. It returns the mark of its value.
func (l *ledger) insertLocked(offset int64, now uint32) mark {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.nodes) == cap(l.nodes) {
		l.compactLocked()
	}
	l.nodes = append(l.nodes, node{lowest: offset, number: l.events, read: now &^ isDone})
	l.live++
	return mark{of: &l.pure, lowest: offset, highest: offset}
}

func (l *ledger) compactLocked() {
	kept := l.nodes[:0]
	if free := cap(kept) - l.live; free < l.live/4+1 || free > l.live+1024 {
		kept = make([]node, 0, l.live+l.live/2+16)
	}
	for _, n := range l.nodes[l.head:] {
		if n.read&isDone == 0 {
			kept = append(kept, n)
		}
	}
	l.nodes, l.head = kept, 0
}

// finish removes the node of a value that is done, with its events up to highest.
func (l *ledger) finish(lowest, highest int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = max(l.done, highest)
	l.findLocked(lowest).read |= isDone
	for l.live--; l.head < len(l.nodes) && l.nodes[l.head].read&isDone != 0; {
		l.head++
	}
	for n := len(l.nodes); n > l.head && l.nodes[n-1].read&isDone != 0; n-- {
		l.nodes = l.nodes[:n-1] // the next offset may be lower if the last was not put after all
	}
	if cap(l.nodes) > 2*l.live+1024 {
		l.compactLocked()
	}
	l.endLocked()
}

// remove removes a node without a value that is done.
func (l *ledger) remove(lowest int64) { l.finish(lowest, math.MinInt64) }

func (l *ledger) findLocked(lowest int64) *node {
	low := l.head
	for n := len(l.nodes) - low; n > 1; n -= n / 2 { // without branches that depend on nodes
		if middle := low + n/2; l.nodes[middle].lowest <= lowest {
			low = middle
		}
	}
	return &l.nodes[low]
}

func (l *ledger) skipLocked(offset int64) {
	l.countLocked(offset)
	l.mu.Lock()
	l.done = offset
	l.mu.Unlock()
}

func (l *ledger) safe() int64 {
	l.looked.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.safeLocked()
}

func (l *ledger) safeLocked() int64 {
	switch {
	case l.dropped.Load():
		return l.final
	case l.live > 0:
		return l.nodes[l.head].lowest
	}
	return l.done + 1
}

func (l *ledger) close(drop bool) {
	l.closing.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	if drop {
		l.final = l.safeLocked()
		l.dropped.Store(true)
	}
	l.endLocked()
}

func (l *ledger) endLocked() {
	if !l.over && l.closing.Load() && (l.live == 0 || l.dropped.Load()) {
		l.over = true
		close(l.ended)
	}
}

// statsLocked is called with the locks of all stripes.
func (l *ledger) statsLocked(now uint32) stats.Source {
	l.looked.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	s := stats.Source{Name: l.name, Read: l.read, Safe: l.safeLocked()}
	if l.live > 0 {
		oldest := l.nodes[l.head]
		s.Events = uint64(l.events - oldest.number)
		s.Oldest = time.Duration(max(0, int32(now&^isDone-oldest.read))) * ageUnit
	}
	return s
}
