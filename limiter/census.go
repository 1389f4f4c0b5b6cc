package limiter

import (
	"cmp"
	"math/bits"

	"github.com/shardq/shardq/internal/least"
)

// A Census tells what a limiter has histories of. All limiters of this package have its
// methods; those made of others tell what these tell.
type Census[T comparable] interface {
	// Len returns the number of items with a history, or -1 if that is not known.
	Len() int
	// MostFailed returns the items that failed most often since they were last
	// forgotten, at most so many, the most often first.
	MostFailed(limit int) []Failed[T]
}

// Failed is an item with the number of its failures.
type Failed[T comparable] struct {
	Item     T
	Failures int
}

// Len counts the histories, those included that have expired and were not swept yet. It
// locks one stripe after the other, for a moment.
func (p *perItem[T]) Len() (n int) {
	for s := range p.used {
		s.mu.Lock()
		n += s.lenLocked()
		s.mu.Unlock()
	}
	return n
}

// MostFailed goes through all histories, and locks one stripe after the other, for a part
// of its histories at a time: see [cursor]. It misses no item that is not forgotten
// meanwhile, and returns none twice.
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

// homesPerHold is how many homes MostFailed visits while it holds the lock of a stripe.
const homesPerHold = 128

// visitLocked visits the histories from a cursor on, those of some homes. It returns
// from where to go on, and whether there is more.
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

// A cursor goes through the homes of a table: the slots at which searches begin. A
// history never comes to stand before its home, and keeps it while the length of the
// table stays the same. So that no history is missed if the length changes, the
// cursor counts with its bits in reverse, the highest bit of a home first, as SCAN of
// Redis does: then those homes that the cursor has passed in a table are the same
// ones, split or joined, in a longer or shorter one.
type cursor uint32

// home returns the home in a table of so many slots.
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

// Len is 0: a bucket knows no items.
func (t *tokens[T]) Len() int { return 0 }

// MostFailed is empty: a bucket knows no items.
func (t *tokens[T]) MostFailed(int) []Failed[T] { return nil }

// Len is that of the limiter.
func (w *withMaxWait[T]) Len() int { return lenOf(w.Limiter) }

// MostFailed is that of the limiter.
func (w *withMaxWait[T]) MostFailed(limit int) []Failed[T] { return mostFailedOf(w.Limiter, limit) }

// Len is the greatest of those of the limiters, for as a rule they have the same items; or -1, if one
// of them does not say.
func (m maxOf[T]) Len() (largest int) {
	for _, l := range m {
		n := lenOf(l)
		if n < 0 {
			return -1 // it may know others than those that the rest knows
		}
		largest = max(largest, n)
	}
	return largest
}

// MostFailed counts for each item the most that a limiter has for it.
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

// most keeps those that failed most often of many, each once.
type most[T comparable] struct {
	kept  *least.Selection[Failed[T]]
	known map[T]struct{} // those that are kept
}

func newMost[T comparable](limit int) most[T] {
	moreOften := func(a, b Failed[T]) int { return cmp.Compare(b.Failures, a.Failures) }
	return most[T]{least.New(limit, moreOften), make(map[T]struct{})}
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
