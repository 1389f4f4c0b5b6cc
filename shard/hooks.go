package shard

import (
	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/stats"
)

// above gets the events of a Core that touch items. It is a Set.
type above interface {
	keepAdd(e *items.Entry, a stats.Add[struct{}])
	sendAdds()
	owesAdds() bool
	abandoning() dropping
}

// A dropping gets the entries of the delayed items that a shutdown or a drain
// drops. keep hands their items on, with no lock held.
type dropping interface {
	drop(e *items.Entry)
	keep()
}

func (s *Set[T]) keepAdd(e *items.Entry, a stats.Add[struct{}]) {
	keep(&s.adds, stats.Add[T]{
		Item: *items.Of[T](e), Priority: a.Priority, Before: a.Before, Expired: a.Expired, Raised: a.Raised, Canceled: a.Canceled,
	})
}

func (s *Set[T]) sendAdds() { send(&s.adds, s.user.OnAdd) }

func (s *Set[T]) owesAdds() bool { return s.adds.pending.Load() }

func (s *Set[T]) abandoning() dropping { return &droppedItems[T]{to: s.abandoned.add} }
