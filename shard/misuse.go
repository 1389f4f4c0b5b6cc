package shard

import "github.com/shardq/shardq/stats"

// Reject reports whether item is not equal to itself, and counts and reports it
// then: the caller must not add it. Reject panics if item holds a dynamic value
// that cannot be compared.
func (s *Set[T]) Reject(item T) bool {
	if item == item { //nolint:staticcheck // NaN is not
		return false
	}
	s.rejected.Add(1)
	s.report(stats.ItemNotEqualToItself, item)
	return true
}

// report calls the user's hook. No lock must be held.
func (s *Set[T]) report(kind stats.MisuseKind, item T) {
	if s.config.OnMisuse != nil {
		s.config.OnMisuse(kind, item)
	}
}
