package shardq

import (
	"iter"
	"time"

	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/internal/itemlimit"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// A program instantiates [Queue] for its own key type, in a package that
// imports shardq and not shard. There the compiler can inline the small
// functions of shard only if shardq exports their bodies, and it exports the
// bodies that it has inlined itself (exportBody in
// cmd/compile/internal/noder/linker.go). This line makes it do so. The linker
// leaves the line out. See decision 24 in docs/internals.
var _ = []any{(*Queue[uint64])(nil), func(l *itemlimit.Limiter) { l.Notify() }}

// Inspect returns what there is to know of the queue, with items of any type,
// for pages and exporters. It makes a Queue an [Inspector].
func (q *Queue[T]) Inspect() stats.Inspection {
	q.mustBeMade()
	return inspection[T]{q}
}

// An inspection is a queue as pages, workers and the other packages of the
// module see it.
type inspection[T comparable] struct{ queue *Queue[T] }

func (i inspection[T]) Configuration() stats.Configuration {
	c := i.queue.configuration
	c.Controller = i.queue.shards.Rules() == engine.Controller
	return c
}

func (i inspection[T]) Snapshot(limit int) Snapshot[any] {
	s := i.queue.Snapshot(limit)
	return Snapshot[any]{
		Time: s.Time, Stats: s.Stats,
		Processing: anyItems(s.Processing), Ready: anyItems(s.Ready), Delayed: anyItems(s.Delayed),
	}
}

func anyItems[T comparable](rows []stats.Item[T]) []stats.Item[any] {
	items := make([]stats.Item[any], len(rows))
	for i := range rows {
		items[i] = rows[i].Any()
	}
	return items
}

func (i inspection[T]) All(state stats.State) iter.Seq[stats.Item[any]] {
	return func(yield func(stats.Item[any]) bool) {
		var workers map[T]int
		if state == stats.Processing {
			workers = i.queue.slots.workers()
		}
		for row := range i.queue.All(state) {
			row.Worker = workers[row.Item]
			if !yield(row.Any()) {
				return
			}
		}
	}
}

func (i inspection[T]) Lookup(item any) (found stats.Item[any], ok bool) {
	typed, ok := item.(T)
	if !ok {
		return found, false
	}
	info, ok := i.queue.Lookup(typed)
	if ok && info.State == stats.Processing {
		info.Worker = i.queue.slots.workers()[typed]
	}
	return info.Any(), ok
}

func (i inspection[T]) RecentFailures(limit int) (failed, discarded []stats.Failure[any]) {
	failedItems, discardedItems := i.queue.RecentFailures(limit)
	return anyFailures(failedItems), anyFailures(discardedItems)
}

func (i inspection[T]) MostRetried(limit int) (items []limiter.Failed[any]) {
	census, ok := i.queue.limiter.(limiter.Census[T])
	if !ok || limit <= 0 {
		return nil
	}
	for _, row := range census.MostFailed(limit) {
		items = append(items, limiter.Failed[any]{Item: row.Item, Failures: row.Failures})
	}
	return items
}

func (i inspection[T]) GroupAttempts(limit int) []stats.GroupAttempts {
	if i.queue.outcomes.attempts == nil {
		return nil
	}
	return i.queue.outcomes.attempts.Groups(limit)
}

func (i inspection[T]) TimeLeft() stats.Histogram { return i.queue.shards.TimeLeft() }

func (i inspection[T]) Operator() stats.Operator { return operator[T]{i.queue} }

type operator[T comparable] struct{ *Queue[T] }

func (o operator[T]) RetryNow(item any) bool {
	typed, ok := item.(T)
	return ok && o.shards.EndDelay(typed)
}

func (o operator[T]) Cancel(item any) (was Canceled) {
	if typed, ok := item.(T); ok {
		was = o.Queue.Cancel(typed)
	}
	return was
}

// Engine is for [engine.Of].
func (i inspection[T]) Engine() engine.Engine[T] {
	q := i.queue
	return engine.Engine[T]{
		Shards: q.shards, Tokens: q.tokens, Owner: q.claims(), ReturnDelay: q.returnDelay,
		OnStats: func(values func() *stats.Values) { q.values = values },
		Drain:   q.drainUntil, EndedEarly: q.drainEndedEarly, LogShutDown: q.logShutDown,
	}
}

// AddWith is [Queue.AddWith]. It returns [ErrNotAgain] if a window refuses the
// add. An add without a window returns nil, also after a shutdown.
func (i inspection[T]) AddWith(item T, options AddOptions) error {
	delay, ok := i.queue.delayOf(item, options)
	switch {
	case !ok:
		return ErrRejected
	case delay.Window > 0:
		return i.queue.shards.AddInWindow(item, delay)
	}
	i.queue.shards.AddWith(item, delay)
	return nil
}

// KeepWaits and OpenSlot are for workers.
func (i inspection[T]) KeepWaits() { i.queue.shards.KeepWaits() }

func (i inspection[T]) OpenSlot() (number int, show func(items []T), closeSlot func()) {
	s := i.queue.slots.add()
	if i.queue.configuration.Metrics {
		show = s.show
	}
	return s.number, show, s.close
}

// What a running handler can learn about its item.

// ClaimGroup implements [worker.Describer].
func (o *queueClaims[T]) ClaimGroup(token worker.Token) string {
	return o.shards.GroupAt(o.tokens.Handle(token))
}

// ClaimWaited implements [worker.Describer].
func (o *queueClaims[T]) ClaimWaited(token worker.Token) time.Duration {
	return o.shards.Waited(o.tokens.Handle(token))
}

// ClaimChanges implements [worker.Watcher].
func (o *queueClaims[T]) ClaimChanges(token worker.Token) (addedAgain, canceled bool) {
	return o.shards.Changed(o.tokens.Handle(token))
}

// WatchClaim implements [worker.Watcher].
func (o *queueClaims[T]) WatchClaim(token worker.Token, tell func(cause error)) (stop func()) {
	return o.shards.Watch(o.tokens.Handle(token), func(what shard.Change) {
		if what == shard.CanceledInFlight {
			tell(worker.ErrItemCanceled)
		} else {
			tell(worker.ErrAddedAgain)
		}
	})
}
