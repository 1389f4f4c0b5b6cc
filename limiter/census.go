package limiter

import (
	"cmp"
	"math/bits"

	"github.com/shardq/shardq/internal/topk"
)

// A Census describes the histories of a limiter. All limiters of this package
// implement it. Those that combine other limiters report what these report.
type Census[T comparable] interface {
	// Len returns the number of items with a history, or -1 if that is unknown.
	Len() int
	// MostFailed returns at most limit items, those with the most failures
	// since their last Forget, in descending order of failures.
	MostFailed(limit int) []Failed[T]
}

// Failed is an item and the number of its failures.
type Failed[T comparable] struct {
	Item     T
	Failures int
}

// Len returns the number of histories, including those that have expired and
// are not swept yet. It locks one stripe at a time, briefly.
func (p *perItem[T]) Len() (n int) {
	for s := range p.used {
		s.mu.Lock()
		n += s.lenLocked()
		s.mu.Unlock()
	}
	return n
}

// MostFailed visits all histories. It locks one stripe at a time, for a bounded
// number of its histories: see [cursor]. It misses no item that stays
// unforgotten during the call, and returns none twice.
func (p *perItem[T]) MostFailed(limit int) []Failed[T] {
	most := newMost[T](limit)
	now := p.idle.now()
	var rows []Failed[T]
	for s := range p.used {
		for c, more := cursor(0), true; more; {
			rows = rows[:0]
			s.mu.Lock()
			c, more = s.visitLocked(c, func(h *history[T]) {
				if !p.idle.over(now, h.ends) {
					rows = append(rows, Failed[T]{h.item, int(h.failures)})
				}
			})
			s.mu.Unlock()
			for _, f := range rows {
				most.add(f)
			}
		}
	}
	return most.kept.Values()
}

// used yields the stripes that have histories.
func (p *perItem[T]) used(yield func(*stripe[T]) bool) {
	all := p.stripes.Load()
	if all == nil {
		return
	}
	for i := range all.all {
		if s := &all.all[i]; s.inUse.Load() && !yield(s) {
			return
		}
	}
}

func (s *stripe[T]) lenLocked() (n int) {
	if !s.first.vacant() {
		n++
	}
	if s.rest != nil {
		n += s.rest.live
	}
	return n
}

// homesPerHold limits the homes that MostFailed visits while it holds the lock
// of a stripe.
const homesPerHold = 128

// visitLocked visits the histories of some homes, beginning at a cursor. It
// returns the cursor to continue from, and whether there is more.
func (s *stripe[T]) visitLocked(from cursor, visit func(*history[T])) (next cursor, more bool) {
	if from == 0 && !s.first.vacant() {
		visit(&s.first)
	}
	if s.rest.empty() {
		return 0, false
	}
	for range homesPerHold {
		s.rest.visitHome(from.home(len(s.rest.slots)), visit)
		if from, more = from.next(len(s.rest.slots)); !more {
			break
		}
	}
	return from, more
}

// A cursor iterates over the homes of a table, the slots at which searches
// begin. A history never stands before its home, and keeps its home while the
// length of the table is unchanged. The cursor counts with its bits reversed,
// the highest bit of a home first, as SCAN of Redis does. So if the length
// changes, the homes that the cursor has passed are the same ones, split or
// joined, and no history is missed.
type cursor uint32

// home returns the home in a table of that many slots.
func (c cursor) home(slots int) int { return int(bits.Reverse32(uint32(c))) & (slots - 1) }

// next returns the cursor behind the home, and whether there are homes left.
func (c cursor) next(slots int) (next cursor, more bool) {
	step := cursor(1) << (32 - bits.Len(uint(slots-1)))
	next = c&^(step-1) + step
	return next, next != 0
}

// visitHome visits the histories of a home.
func (t *table[T]) visitHome(home int, visit func(*history[T])) {
	mask := len(t.slots) - 1
	for i := home; !t.slots[i].vacant(); i = (i + 1) & mask {
		if h := &t.slots[i]; int(h.hash)&mask == home {
			visit(h)
		}
	}
}

// Len returns 0, because a bucket keeps no histories.
func (t *tokens[T]) Len() int { return 0 }

// MostFailed returns nil, because a bucket keeps no histories.
func (t *tokens[T]) MostFailed(int) []Failed[T] { return nil }

// Len returns the Len of the wrapped limiter.
func (w *withMaxWait[T]) Len() int { return lenOf(w.Limiter) }

// MostFailed returns the MostFailed of the wrapped limiter.
func (w *withMaxWait[T]) MostFailed(limit int) []Failed[T] { return mostFailedOf(w.Limiter, limit) }

// Len returns the largest Len of the limiters, because they usually have the
// same items. It returns -1 if one of them does.
func (m maxOf[T]) Len() (largest int) {
	for _, l := range m {
		n := lenOf(l)
		if n < 0 {
			return -1 // it may have items that the other limiters do not have
		}
		largest = max(largest, n)
	}
	return largest
}

// MostFailed reports the largest count of any limiter for each item.
func (m maxOf[T]) MostFailed(limit int) []Failed[T] {
	most := newMost[T](limit)
	for _, l := range m {
		for _, f := range mostFailedOf(l, limit) {
			most.add(Failed[T]{f.Item, m.NumRequeues(f.Item)})
		}
	}
	return most.kept.Values()
}

func lenOf[T comparable](l Limiter[T]) int {
	if c, ok := l.(Census[T]); ok {
		return c.Len()
	}
	return -1
}

func mostFailedOf[T comparable](l Limiter[T], limit int) []Failed[T] {
	if c, ok := l.(Census[T]); ok {
		return c.MostFailed(limit)
	}
	return nil
}

// most collects the items with the most failures, each item once.
type most[T comparable] struct {
	kept  *topk.Selection[Failed[T]]
	known map[T]struct{} // the items in kept
}

func newMost[T comparable](limit int) most[T] {
	moreOften := func(a, b Failed[T]) int { return cmp.Compare(b.Failures, a.Failures) }
	return most[T]{topk.New(limit, moreOften), make(map[T]struct{})}
}

func (m *most[T]) add(f Failed[T]) {
	if _, again := m.known[f.Item]; again || f.Failures <= 0 || !m.kept.Wants(f) {
		return
	}
	m.known[f.Item] = struct{}{}
	if out, dropped := m.kept.Add(f); dropped {
		delete(m.known, out.Item)
	}
}
