package shard

import "github.com/shardq/shardq/stats"

// An addHook calls OnAdd. Adds are found under the lock of a shard.
type addHook[T comparable] struct {
	hook func(stats.Add[T])
	outbox[stats.Add[T]]
}

// newAddHook returns nil if there is no hook.
func newAddHook[T comparable](hook func(stats.Add[T])) *addHook[T] {
	if hook == nil {
		return nil
	}
	return &addHook[T]{hook: hook}
}

// tracksAdds reports whether each add needs requestPriority: for its place, or
// for OnAdd.
func (s *Set[T]) tracksAdds() bool { return s.keepPlaces || s.adds != nil }

// reportAdds calls OnAdd for the adds that were kept.
func (s *Set[T]) reportAdds() {
	if s.adds != nil {
		s.adds.send(s.adds.hook)
	}
}
