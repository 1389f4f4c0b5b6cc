package limiter

import (
	"cmp"

	"github.com/shardq/shardq/internal/topk"
)

// A Census describes the histories of a limiter.
type Census[T comparable] interface {
	// Len returns the number of items with a history, or -1 if unknown.
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

// A ranking is a Selection of the items with the most failures. The interface
// keeps it out of generic code, so that it is compiled once.
type ranking interface {
	Wants(Failed[any]) bool
	Add(Failed[any]) (out Failed[any], dropped bool)
	Values() []Failed[any]
}

func newRanking(limit int) ranking {
	return topk.New(limit, func(a, b Failed[any]) int { return cmp.Compare(b.Failures, a.Failures) })
}

func rank[T comparable](most ranking, item T, failures int) {
	if most.Wants(Failed[any]{Failures: failures}) { // an item in an interface may take memory
		most.Add(Failed[any]{item, failures})
	}
}

func ranked[T comparable](most ranking) []Failed[T] {
	values := most.Values()
	failed := make([]Failed[T], len(values))
	for i, f := range values {
		failed[i].Item, _ = f.Item.(T) // an interface may be nil
		failed[i].Failures = f.Failures
	}
	return failed
}

func (p *perItem[T]) Len() int { return int(p.count.Load()) }

// MostFailed misses no item, unless it is forgotten during the call.
func (p *perItem[T]) MostFailed(limit int) []Failed[T] {
	all := p.all.Load()
	if all == nil {
		return nil
	}
	most, now := newRanking(limit), p.idle.now()
	for item, h := range all.Range {
		if !p.idle.over(now, h.ends) {
			rank(most, item, h.failures)
		}
	}
	return ranked[T](most)
}

func (t *tokens[T]) Len() int                   { return 0 }
func (t *tokens[T]) MostFailed(int) []Failed[T] { return nil }

func (w *withMaxWait[T]) Len() int { return maxOf[T]{w.Limiter}.Len() }

func (w *withMaxWait[T]) MostFailed(limit int) []Failed[T] {
	return maxOf[T]{w.Limiter}.MostFailed(limit)
}

// Len returns the largest Len of the limiters, because they usually have the
// same items.
func (m maxOf[T]) Len() (largest int) {
	for _, l := range m {
		census, ok := l.(Census[T])
		if !ok || census.Len() < 0 {
			return -1 // it may have items that the other limiters do not have
		}
		largest = max(largest, census.Len())
	}
	return largest
}

func (m maxOf[T]) MostFailed(limit int) []Failed[T] {
	most, seen := newRanking(limit), map[T]bool{}
	for _, l := range m {
		census, ok := l.(Census[T])
		if !ok {
			continue
		}
		for _, f := range census.MostFailed(limit) {
			f.Failures = m.NumRequeues(f.Item)
			if !seen[f.Item] && f.Failures > 0 { // it may have been forgotten since
				seen[f.Item] = true
				rank(most, f.Item, f.Failures)
			}
		}
	}
	return ranked[T](most)
}
