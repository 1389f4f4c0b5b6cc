package shardqotel

import (
	"slices"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v3"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"

	"github.com/shardq/shardq/stats"
)

// links are the spans of the adds that no attempt has served, by their items.
//
// An add is recorded before the queue gets it, and an attempt takes what is
// recorded after it was claimed, so it misses no add that it serves. The race
// on the other side: a worker claims the item, an add makes it dirty, and the
// worker takes the link of that add. Then the next run serves the add, and has
// no link. So an attempt leaves the links of adds that have not returned, and
// puts all links back if the item is dirty.
type links[T comparable] struct {
	pending   *xsync.MapOf[T, pending]
	each, all int // limits of the links of an item, and of the items
	lookup    func(T) (stats.Item[T], bool)
	ids       atomic.Uint64
	forgotten atomic.Uint64
	// news counts new items. A sweep is due at next, when as many have come as
	// the last one has left, so that the cost for each is constant.
	news, next atomic.Int64
	sweeping   atomic.Bool
}

// pending is kept beside an item. It is a value, and its slice does not change.
type pending struct {
	links   []link // oldest first
	omitted int    // links that were left out
	baggage baggage.Baggage
	adding  int    // adds that have not returned
	version uint64 // differs from that of every other value
}

func (p pending) has(id uint64) bool {
	return slices.ContainsFunc(p.links, func(one link) bool { return one.id == id })
}

type link struct {
	id   uint64
	span trace.SpanContext
}

func newLinks[T comparable](each, all int, lookup func(T) (stats.Item[T], bool)) *links[T] {
	l := &links[T]{pending: xsync.NewMapOf[T, pending](), each: each, all: all, lookup: lookup}
	l.next.Store(int64(min(fewest, all)))
	return l
}

// begin records an add before the queue gets it. It returns 0 if there is no
// room.
func (l *links[T]) begin(item T, span trace.SpanContext, carried baggage.Baggage) (id uint64) {
	before, known := l.pending.Load(item)
	if !known && !l.hasRoom() {
		return 0
	}
	// Whatever is kept of an item that the queue does not hold was served, or
	// canceled, or dropped.
	stale := known && before.adding == 0 && !l.holds(item)
	id = l.ids.Add(1)
	l.pending.Compute(item, func(p pending, _ bool) (pending, bool) {
		if stale && p.version == before.version {
			p = pending{}
		}
		p.adding++
		return l.with(p, pending{links: []link{{id, span}}, baggage: carried}, id), false
	})
	return id
}

// end is called when the add has returned.
func (l *links[T]) end(item T, id uint64, failed bool) {
	l.pending.Compute(item, func(p pending, known bool) (pending, bool) {
		if !known {
			return p, true
		}
		p.adding--
		if failed {
			p.links = slices.DeleteFunc(slices.Clone(p.links), func(one link) bool { return one.id == id })
		}
		p.version = l.ids.Add(1)
		return p, p.adding == 0 && len(p.links) == 0
	})
}

func (l *links[T]) take(item T) (taken pending) {
	l.pending.Compute(item, func(p pending, _ bool) (pending, bool) {
		taken = p
		return p, p.adding == 0
	})
	return taken
}

// putBack keeps links for the next attempt, before those that were recorded
// since.
func (l *links[T]) putBack(item T, older pending) {
	if len(older.links) == 0 {
		return
	}
	if _, known := l.pending.Load(item); !known && !l.hasRoom() {
		return
	}
	l.pending.Compute(item, func(newer pending, _ bool) (pending, bool) {
		older.adding = newer.adding
		if newer.has(older.links[len(older.links)-1].id) { // they were left, and count once
			older.omitted = 0
		}
		return l.with(older, newer, l.ids.Add(1)), false
	})
}

// forget drops what is kept of an item, unless an add of it is in progress, or
// has begun since it had the version.
func (l *links[T]) forget(item T, version uint64) {
	l.pending.Compute(item, func(p pending, known bool) (pending, bool) {
		return p, !known || p.adding == 0 && p.version == version
	})
}

// with returns p with the links of newer appended, without duplicates and those
// that are too many.
func (l *links[T]) with(p, newer pending, version uint64) pending {
	all := slices.Clone(p.links)
	for _, one := range newer.links {
		if !p.has(one.id) {
			all = append(all, one)
		}
	}
	excess := max(0, len(all)-l.each)
	p.links, p.omitted, p.version = all[excess:], p.omitted+newer.omitted+excess, version
	if newer.baggage.Len() > 0 {
		p.baggage = newer.baggage
	}
	return p
}

func (l *links[T]) holds(item T) bool {
	_, held := l.lookup(item)
	return held
}

const fewest = 1024 // new items before a sweep

// hasRoom reports whether another item may be kept, and sweeps now and then.
func (l *links[T]) hasRoom() bool {
	if l.news.Add(1) > l.next.Load() && l.sweeping.CompareAndSwap(false, true) {
		defer l.sweeping.Store(false)
		l.sweep()
		l.news.Store(0)
		l.next.Store(int64(min(max(fewest, l.pending.Size()), l.all)))
	}
	if l.pending.Size() >= l.all {
		l.forgotten.Add(1)
		return false
	}
	return true
}

func (l *links[T]) sweep() {
	l.pending.Range(func(item T, found pending) bool {
		if found.adding == 0 && !l.holds(item) {
			l.forget(item, found.version)
		}
		return true
	})
}
