package limiter

import (
	"cmp"
	"math"
	"slices"
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

// MostFailed goes through all histories, and locks one stripe after the other. What changes
// meanwhile may be missed.
func (p *perItem[T]) MostFailed(limit int) []Failed[T] {
	most := newMost[T](limit)
	now := p.idle.now()
	for s := range p.used {
		s.mu.Lock()
		s.visitLocked(func(h *history[T]) {
			if !p.idle.over(now, h.ends) {
				most.add(Failed[T]{h.item, int(h.failures)})
			}
		})
		s.mu.Unlock()
	}
	return most.cut()
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

func (s *stripe[T]) visitLocked(visit func(*history[T])) {
	if !s.first.vacant() {
		visit(&s.first)
	}
	if s.rest.empty() {
		return
	}
	for i := range s.rest.slots {
		if h := &s.rest.slots[i]; !h.vacant() {
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
	seen := make(map[T]struct{})
	for _, l := range m {
		for _, f := range mostFailedOf(l, limit) {
			if _, again := seen[f.Item]; !again {
				seen[f.Item] = struct{}{}
				most.add(Failed[T]{f.Item, m.NumRequeues(f.Item)})
			}
		}
	}
	return most.cut()
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

// most keeps those that failed most often of many, in a space of twice as many as are
// wanted.
type most[T comparable] struct {
	limit int
	rows  []Failed[T]
	least int // what does not reach it is not among them
}

// newMost returns one for at most so many. More than there can be items are as many, so that
// twice as many are a number, too.
func newMost[T comparable](limit int) most[T] { return most[T]{limit: min(limit, math.MaxInt/2)} }

func (m *most[T]) add(f Failed[T]) {
	if f.Failures <= m.least || m.limit <= 0 {
		return
	}
	if m.rows = append(m.rows, f); len(m.rows) >= 2*m.limit {
		m.rows = m.cut()
		m.least = m.rows[m.limit-1].Failures
	}
}

func (m *most[T]) cut() []Failed[T] {
	slices.SortStableFunc(m.rows, func(a, b Failed[T]) int { return cmp.Compare(b.Failures, a.Failures) })
	return slices.Clip(m.rows[:max(0, min(m.limit, len(m.rows)))])
}
