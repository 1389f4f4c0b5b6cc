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
	// cells has one for each stripe, whose lock guards it. So counting events costs
	// a Put no atomic operation.
	cells   []cell
	closing atomic.Bool   // no Put is accepted
	dropped atomic.Bool   // nothing changes any more
	looked  atomic.Bool   // the source reads the clock before the next event
	ended   chan struct{} // closed once the source is closing and nothing is in the list
	once    sync.Once

	mu         sync.Mutex // guards the fields below; a leaf, also under a stripe's lock
	nodes      []node     // those before head are done, and perhaps others
	head, live int
	done       int64 // the highest offset of the values that are done, and of those skipped
	skips      cell
}

// A cell counts events.
type cell struct {
	events  uint64
	highest int64
}

type node struct {
	lowest int64
	number uint32 // of events before it
	read   uint32 // when it was put, in ageUnits, or isDone with the lowest bit
}

const (
	isDone  = 1
	ageUnit = 5 * time.Millisecond
	// ageSample is how many nodes share a reading of the clock, if nobody looks
	// meanwhile. Each would cost a quarter of a Put.
	ageSample = 16
)

// newLedger returns a ledger that has read all offsets below from.
func newLedger(name string, from int64, stripes int) *ledger {
	l := &ledger{
		name: name, cells: make([]cell, stripes), ended: make(chan struct{}), done: from - 1, skips: cell{highest: from - 1},
	}
	l.pure.ledger, l.mixed.ledger = l, l
	l.looked.Store(true)
	return l
}

// insert appends a node. Its offset is higher than those before.
func (l *ledger) insert(lowest int64, number, read uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dropped.Load() {
		return
	}
	if len(l.nodes) == cap(l.nodes) {
		l.compactLocked()
	}
	l.nodes = append(l.nodes, node{lowest: lowest, number: number, read: read &^ isDone})
	l.live++
	if len(l.nodes)%ageSample == 0 {
		l.look()
	}
}

// move.
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
	if l.dropped.Load() {
		return
	}
	l.done = max(l.done, highest)
	l.findLocked(lowest).read |= isDone
	for l.live--; l.head < len(l.nodes) && l.nodes[l.head].read&isDone != 0; {
		l.head++
	}
	if cap(l.nodes) > 2*l.live+1024 {
		l.compactLocked()
	}
	l.endLocked()
}

// undo removes the last node, whose value is not put after all. The next offset may
// be lower.
func (l *ledger) undo() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.dropped.Load() {
		l.nodes = l.nodes[:len(l.nodes)-1]
		l.live--
		l.endLocked()
	}
}

// remove removes a node without a value that is done.
func (l *ledger) remove(lowest int64) { l.finish(lowest, math.MinInt64) }

// findLocked gallops, because values finish about in the order of their first
// events.
func (l *ledger) findLocked(lowest int64) *node {
	from, step := l.head, 1
	for from+step < len(l.nodes) && l.nodes[from+step].lowest <= lowest {
		from += step
		step *= 2
	}
	for step > 1 {
		step /= 2
		if from+step < len(l.nodes) && l.nodes[from+step].lowest <= lowest {
			from += step
		}
	}
	return &l.nodes[from]
}

func (l *ledger) skip(offset int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.dropped.Load() {
		l.done, l.skips.highest = offset, offset
		l.skips.events++
	}
}

func (l *ledger) safe() int64 {
	l.look()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.safeLocked()
}

func (l *ledger) safeLocked() int64 {
	if l.live > 0 {
		return l.nodes[l.head].lowest
	}
	return l.done + 1
}

func (l *ledger) look() {
	if !l.looked.Load() {
		l.looked.Store(true)
	}
}

func (l *ledger) close(drop bool) {
	l.closing.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	if drop {
		l.dropped.Store(true)
	}
	l.endLocked()
}

func (l *ledger) endLocked() {
	if l.closing.Load() && (l.live == 0 || l.dropped.Load()) {
		l.once.Do(func() { close(l.ended) })
	}
}

// stats leaves out what the cells have. The oldest node is nil if all is done.
func (l *ledger) stats() (s stats.Source, oldest *node) {
	l.look()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.live > 0 {
		first := l.nodes[l.head]
		oldest = &first
	}
	return stats.Source{Name: l.name, Read: l.skips.highest, Safe: l.safeLocked(), Events: l.skips.events}, oldest
}
