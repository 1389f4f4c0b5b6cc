package shard

import "github.com/shardq/shardq/stats"

// Reject reports whether item is not equal to itself. If so, it counts and
// reports the item, and the caller must not add it. If T has such values, every
// method that adds an item calls Reject first. It panics if item holds a
// dynamic value that cannot be compared.
func (s *Set[T]) Reject(item T) bool {
	if item == item { //nolint:staticcheck // NaN is not
		return false
	}
	s.rejected.Add(1)
	s.report(stats.ItemNotEqualToItself, item)
	return true
}

// report calls the user's hook, in the caller's goroutine. No lock must be
// held.
func (s *Set[T]) report(kind stats.MisuseKind, item T) {
	if s.config.OnMisuse != nil {
		s.config.OnMisuse(kind, item)
	}
}
