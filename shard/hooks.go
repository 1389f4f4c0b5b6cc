package shard

import (
	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/stats"
)

// hooks carries the events of a Core up to its Set.
type hooks[T comparable] struct{ set *Set[T] }

func newAddHook[T comparable](hook func(stats.Add[T])) *addHook[T] {
	if hook == nil {
		return nil
	}
	return &addHook[T]{hook: hook}
}

func (u hooks[T]) keepAdd(e *items.Entry, a stats.Add[struct{}]) {
	keep(&u.set.adds.outbox, stats.Add[T]{
		Item: *items.Of[T](e), Priority: a.Priority, Before: a.Before, Expired: a.Expired, Raised: a.Raised, Canceled: a.Canceled,
	})
}

func (u hooks[T]) sendAdds() {
	if u.set.adds != nil {
		send(&u.set.adds.outbox, u.set.adds.hook)
	}
}

func (u hooks[T]) hasAdds() bool { return u.set.adds != nil && u.set.adds.pending.Load() }

func (u hooks[T]) abandoning() dropping { return &droppedItems[T]{to: u.set.abandoned.add} }
