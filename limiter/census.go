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

func mostFailures[T comparable](limit int) *topk.Selection[Failed[T]] {
	return topk.New(limit, func(a, b Failed[T]) int { return cmp.Compare(b.Failures, a.Failures) })
}

func (p *perItem[T]) Len() int { return int(p.count.Load()) }

// MostFailed misses no item that stays unforgotten during the call.
func (p *perItem[T]) MostFailed(limit int) []Failed[T] {
	all := p.all.Load()
	if all == nil {
		return nil
	}
	most, now := mostFailures[T](limit), p.idle.now()
	for item, h := range all.Range {
		if !p.idle.over(now, h.ends) {
			most.Add(Failed[T]{item, h.failures})
		}
	}
	return most.Values()
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
	most, seen := mostFailures[T](limit), map[T]bool{}
	for _, l := range m {
		census, ok := l.(Census[T])
		if !ok {
			continue
		}
		for _, f := range census.MostFailed(limit) {
			f.Failures = m.NumRequeues(f.Item)
			if !seen[f.Item] && f.Failures > 0 { // it may have been forgotten since
				seen[f.Item] = true
				most.Add(f)
			}
		}
	}
	return most.Values()
}
