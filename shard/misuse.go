package shard

import "fmt"

// A Misuse names a rule that a call broke.
type Misuse uint8

const (
	// DoneWithoutGet is a Done of an item that is not in processing: it was
	// never handed out, or its Done was called already.
	DoneWithoutGet Misuse = iota + 1
	// ItemNotEqualToItself is an item such as a floating-point NaN, which no
	// look-up could find again. The queue accepts none.
	ItemNotEqualToItself
)

// String returns the name of the rule, for logs.
func (m Misuse) String() string {
	switch m {
	case DoneWithoutGet:
		return "Done without Get"
	case ItemNotEqualToItself:
		return "item not equal to itself"
	default:
		return fmt.Sprintf("Misuse(%d)", uint8(m))
	}
}

// Reject reports whether item is not equal to itself. If so, it counts and
// reports the item, and the caller must not add it. If T has such values, every
// method that adds an item calls Reject first. It panics if item holds a
// dynamic value that cannot be compared.
func (s *Set[T]) Reject(item T) bool {
	if item == item { //nolint:staticcheck // NaN is not
		return false
	}
	s.rejected.Add(1)
	s.report(ItemNotEqualToItself, item)
	return true
}

// report calls the user's hook, in the caller's goroutine. No lock must be
// held.
func (s *Set[T]) report(kind Misuse, item T) {
	if s.onMisuse != nil {
		s.onMisuse(kind, item)
	}
}
