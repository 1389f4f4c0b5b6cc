package shardq

import (
	"context"
	"iter"
	"time"

	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/internal/itemlimit"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// Stats is a reading of a queue's state and counters: see [Queue.Stats]. Its
// String is a line such as "3 ready, 2 in flight, 97 delayed, 25,565 done".
type Stats = stats.Stats

// A Snapshot describes a queue and some of its items: see [Queue.Snapshot].
type Snapshot[T comparable] = stats.Snapshot[T]

// An Inspector is a queue of items of any type, as a page, an exporter or a log
// sees it. [Queue] and coalesce.Coalescer are Inspectors.
type Inspector = stats.Inspector

// Stats returns a reading of the queue's state and counters. Every shard's part
// is consistent in itself, the sum only if the queue is at rest. The cost grows
// with the number of shards, not with that of items or groups.
func (q *Queue[T]) Stats() Stats { return q.complete(q.set().Core.Stats()) }

func (q *Queue[T]) complete(st Stats) Stats {
	st.Workers, st.Limited = q.slots.open(), -1
	if census, ok := q.limiter.(limiter.Census[T]); ok {
		st.Limited = census.Len()
	}
	st.Outages, st.OutageFailures = q.outcomes.outage.read()
	if st.Metrics != nil {
		q.outcomes.attempts.AddTo(&st.Metrics.Attempts)
	}
	if q.values != nil {
		st.Values = q.values()
		st.Values.Lingering = min(st.Values.Lingering, st.Delayed)
	}
	return st
}

// Snapshot returns a description of the queue with at most limit items of each
// state. Without [Options].Ages, the choice among many is random. Snapshot goes
// from shard to shard. It misses no item that stays in its state, and returns
// none twice.
func (q *Queue[T]) Snapshot(limit int) Snapshot[T] {
	q.mustBeMade()
	s := q.snapshot(limit)
	return Snapshot[T]{
		Time: s.Time, Stats: s.Stats,
		Processing: typedRows[T](s.Processing), Ready: typedRows[T](s.Ready), Delayed: typedRows[T](s.Delayed),
	}
}

func (q *Queue[T]) snapshot(limit int) Snapshot[any] {
	now := q.clock.Now()
	s := q.shards.Core.Inspect(limit)
	s.Time, s.Stats = now, q.complete(s.Stats)
	workers := q.slots.workers()
	for i := range s.Processing {
		s.Processing[i].Worker = workers[s.Processing[i].Item]
	}
	for _, rows := range [...][]stats.Item[any]{s.Processing, s.Ready, s.Delayed} {
		q.countAttempts(rows)
	}
	return s
}

func (q *Queue[T]) countAttempts(rows []stats.Item[any]) []stats.Item[any] {
	for i := range rows {
		rows[i].Attempts = q.limiter.NumRequeues(itemOf[T](&rows[i]))
	}
	return rows
}

// Below a queue, rows have their items as any, so that the code that makes them
// is compiled once.

func itemOf[T comparable](row *stats.Item[any]) T {
	item, _ := row.Item.(T) // not of a nil item of an interface type
	return item
}

func typedRow[T comparable](r *stats.Item[any], item T) stats.Item[T] {
	return stats.Item[T]{
		Item: item, State: r.State, Dirty: r.Dirty, Since: r.Since, Deadline: r.Deadline,
		Priority: r.Priority, Attempts: r.Attempts, Shard: r.Shard, Group: r.Group, Worker: r.Worker,
	}
}

func typedRows[T comparable](rows []stats.Item[any]) (typed []stats.Item[T]) {
	if len(rows) > 0 {
		typed = make([]stats.Item[T], len(rows))
	}
	for i := range rows {
		typed[i] = typedRow(&rows[i], itemOf[T](&rows[i]))
	}
	return typed
}

// All returns an iterator over all items in a state. It goes from shard to
// shard, with no lock held while the loop runs. An item that enters or leaves
// the state meanwhile may be missing. None comes twice.
//
// Within a shard, ready items come in the order in which they will be handed
// out, group by group; with [Options].Ages, items in processing the longest
// first; delayed items by their deadlines.
func (q *Queue[T]) All(state stats.State) iter.Seq[stats.Item[T]] {
	q.mustBeMade()
	return func(yield func(stats.Item[T]) bool) {
		q.shards.Core.Items(state)(func(row stats.Item[any]) bool {
			item := itemOf[T](&row)
			row.Attempts = q.limiter.NumRequeues(item)
			return yield(typedRow(&row, item))
		})
	}
}

// Lookup returns the queue's row of an item, and whether it holds the item. It
// takes constant time.
func (q *Queue[T]) Lookup(item T) (found stats.Item[T], ok bool) {
	held, row, ok := q.set().Lookup(item)
	if ok {
		row.Attempts = q.limiter.NumRequeues(item)
		found = typedRow(&row, held)
	}
	return found, ok
}

// A program instantiates [Queue] for its own key type, in a package that
// imports shardq and not shard. There the compiler can inline the small
// functions of shard only if shardq exports their bodies, and it exports the
// bodies that it has inlined itself (exportBody in
// cmd/compile/internal/noder/linker.go). This line makes it do so. The linker
// leaves the line out. See decision 24 in docs/internals.
var _ = []any{(*Queue[uint64])(nil), func(l *itemlimit.Limiter) { l.Notify() }}

// Inspect describes the queue with items of any type, for pages and exporters.
// It makes a Queue an [Inspector].
func (q *Queue[T]) Inspect() stats.Inspection {
	q.mustBeMade()
	return &inspection[T]{q}
}

type inspection[T comparable] struct{ queue *Queue[T] }

func (i *inspection[T]) Configuration() stats.Configuration { return i.queue.configuration }

func (i *inspection[T]) Snapshot(limit int) Snapshot[any] { return i.queue.snapshot(limit) }

func (i *inspection[T]) All(state stats.State) iter.Seq[stats.Item[any]] {
	return func(yield func(stats.Item[any]) bool) {
		var workers map[any]int
		if state == stats.Processing {
			workers = i.queue.slots.workers()
		}
		i.queue.shards.Core.Items(state)(func(row stats.Item[any]) bool {
			row.Worker = workers[row.Item]
			row.Attempts = i.queue.limiter.NumRequeues(itemOf[T](&row))
			return yield(row)
		})
	}
}

func (i *inspection[T]) Lookup(item any) (found stats.Item[any], ok bool) {
	typed, ok := item.(T)
	if !ok {
		return found, false
	}
	held, found, ok := i.queue.shards.Lookup(typed)
	if !ok {
		return found, false
	}
	found.Item, found.Attempts = held, i.queue.limiter.NumRequeues(typed)
	if found.State == stats.Processing {
		found.Worker = i.queue.slots.workers()[item]
	}
	return found, true
}

func (i *inspection[T]) RecentFailures(limit int) (failed, discarded []stats.Failure[any]) {
	return i.queue.outcomes.recent(limit)
}

func (i *inspection[T]) MostRetried(limit int) (items []limiter.Failed[any]) {
	census, ok := i.queue.limiter.(limiter.Census[T])
	if !ok || limit <= 0 {
		return nil
	}
	for _, row := range census.MostFailed(limit) {
		items = append(items, limiter.Failed[any]{Item: row.Item, Failures: row.Failures})
	}
	return items
}

func (i *inspection[T]) GroupAttempts(limit int) []stats.GroupAttempts {
	if i.queue.outcomes.attempts == nil {
		return nil
	}
	return i.queue.outcomes.attempts.Groups(limit)
}

func (i *inspection[T]) TimeLeft() stats.Histogram { return i.queue.shards.Core.TimeLeft() }

func (i *inspection[T]) Operator() stats.Operator { return &operator[T]{i.queue} }

// An operator embeds nothing, because the compiler would make wrappers of all
// methods of a Queue for each type.
type operator[T comparable] struct{ queue *Queue[T] }

func (o *operator[T]) RetryNow(item any) bool {
	typed, ok := item.(T)
	return ok && o.queue.shards.EndDelay(typed)
}

func (o *operator[T]) Cancel(item any) (was Canceled) {
	if typed, ok := item.(T); ok {
		was = o.queue.Cancel(typed)
	}
	return was
}

func (o *operator[T]) Pause()  { o.queue.Pause() }
func (o *operator[T]) Resume() { o.queue.Resume() }

func (o *operator[T]) PauseGroup(group string, until time.Time) { o.queue.PauseGroup(group, until) }
func (o *operator[T]) ResumeGroup(group string)                 { o.queue.ResumeGroup(group) }

// Engine is for [engine.Of].
func (i *inspection[T]) Engine() engine.Engine[T] {
	q := i.queue
	return engine.Engine[T]{
		Shards: q.shards, Tokens: q.tokens, Owner: q.claims(), ReturnDelay: q.returnDelay,
		OnStats: func(values func() *stats.Values) { q.values = values },
		Drain:   q.drainUntil, EndedEarly: q.drainEndedEarly, LogShutDown: q.logShutDown,
	}
}

// AddWith is [Queue.AddWith]. It returns [ErrNotAgain] if a window refuses the
// add. An add without a window returns nil, also after a shutdown.
func (i *inspection[T]) AddWith(item T, options AddOptions) error {
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

// NextOf, KeepWaits, Ending, HandlerContext and OpenSlot are for workers.
func (i *inspection[T]) NextOf(source any) func(*worker.Claim[T]) (bool, error) {
	if source != any(i.queue) { // it may embed the queue, and take items in its own way
		return nil
	}
	return i.queue.doneAndNext
}

func (i *inspection[T]) KeepWaits()              { i.queue.shards.Core.KeepWaits() }
func (i *inspection[T]) Ending() context.Context { return i.queue.shards.Core.Ending() }

func (i *inspection[T]) HandlerContext(c context.Context) context.Context {
	return i.queue.shards.Core.HandlerContext(c)
}

func (i *inspection[T]) OpenSlot() (number int, show func(items []T), closeSlot func()) {
	s := i.queue.slots.add()
	if i.queue.configuration.Metrics {
		show = s.show
	}
	return s.number, show, s.close
}

func (o *queueClaims[T]) ClaimGroup(token worker.Token) string {
	return o.shards.Core.GroupAt(o.tokens.Handle(token))
}

func (o *queueClaims[T]) ClaimWaited(token worker.Token) (waited time.Duration, ok bool) {
	return o.shards.Core.Waited(o.tokens.Handle(token))
}

func (o *queueClaims[T]) ClaimChanges(token worker.Token) (addedAgain, canceled bool) {
	return o.shards.Core.Changed(o.tokens.Handle(token))
}

func (o *queueClaims[T]) WatchClaim(token worker.Token, tell func(cause error)) (stop func()) {
	return o.shards.Core.Watch(o.tokens.Handle(token), func(what shard.Change) {
		cause := worker.ErrAddedAgain
		if what == shard.CanceledInFlight {
			cause = worker.ErrItemCanceled
		}
		tell(cause)
	})
}
