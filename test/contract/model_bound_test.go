package contract

import (
	"math"
	"math/bits"
	"runtime"
)

// A wait is how long an item is in line, in Gets of the whole queue. The contract
// bounds it: see the end of docs/reference/semantics.md, C46 and C47.
type wait struct {
	begun  bool // at the first Get of another item
	gets   int
	before int // the items that were before it, or beside it
	most   int // the most priorities, or the greatest weight of groups, since
}

// lanes are the paths of consumers through the shards.
func lanes() int { return 1 << bits.Len(uint(min(max(runtime.GOMAXPROCS(0), 4), 16)-1)) }

// passBy counts a Get for the items that it does not return.
func (m *model) passBy(taken *entry) {
	weights, levels := 0, map[int]bool{}
	for _, l := range m.lines {
		if l.state == selectable {
			weights += l.weight
		}
	}
	for _, e := range m.items {
		if e.phase == ready {
			levels[e.priority] = true
		}
	}
	for _, e := range m.items {
		switch {
		case e.phase != ready, e == taken:
		case m.lineOf(e).state == throttled:
			e.wait = wait{}
		case !e.wait.begun:
			e.wait = wait{begun: true, before: len(m.in(m.lineOf(e), func(o *entry) bool {
				return o != e && o != taken && o.phase == ready && o.place <= e.place && (o.priority == e.priority || m.interval() == 0)
			}))}
		default:
			e.wait.gets++
			if e.wait.most = max(e.wait.most, len(levels)); m.grouped() {
				e.wait.most = max(e.wait.most, weights)
			}
		}
	}
}

// overlap is called when several consumers got items at once. The bounds are for
// Gets that do not overlap.
func (m *model) overlap() {
	for _, e := range m.items {
		e.wait = wait{}
	}
}

// starving returns an item that has waited for too long, or nil.
func (m *model) starving() *entry { // C5, C46, C47
	for _, e := range m.items {
		if e.phase == ready && e.wait.gets > max(0, m.bound(e)) {
			return e
		}
	}
	return nil
}

// bound returns how many Gets there may be before that of a ready item.
func (m *model) bound(e *entry) int { // C5, C46, C47
	l, w, shards := m.lineOf(e), e.wait, m.counts.Shards
	switch {
	case m.keepsPlaces(), m.grouped() && l.hasPriorities, m.prioritized && m.interval() == 0:
		return math.MaxInt
	case m.prioritiesFirst() && m.prioritized: // C66: others of its shard may go first
		return math.MaxInt
	case m.grouped():
		gets := w.before*w.most/max(1, l.weight) + w.most
		if shards > 1 {
			gets *= 8
		}
		return gets - 1
	case !m.prioritized:
		return w.before + 8*(shards-1)*(lanes()+(w.before+7)/8)
	case shards == 1:
		return (w.before+1)*w.most*m.interval() - 1
	}
	return (w.before+1)*w.most*m.interval()*lanes()*shards - 1
}
