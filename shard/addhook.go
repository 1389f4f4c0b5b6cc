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
func (s *Set[T]) tracksAdds() bool { return s.rules.KeepPlaces || s.adds != nil }

// leftLine keeps a report for OnAdd: a ready or dirty entry is about to leave
// the line, and no consumer takes it.
func (sh *shard[T]) leftLine(id uint32, e *entry[T]) {
	if sh.set.adds != nil {
		sh.set.adds.keep(stats.Add[T]{Item: e.item, Priority: sh.table.requested.run(id), Canceled: true})
	}
}

// reportAdds tells watches of the changes that were kept, and calls OnAdd for
// the adds.
func (s *Set[T]) reportAdds() {
	s.watches.send()
	if s.adds != nil {
		s.adds.send(s.adds.hook)
	}
}
