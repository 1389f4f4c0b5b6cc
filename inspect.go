package shardq

import (
	"context"
	"iter"
	"sync/atomic"
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
// is consistent in itself. The sum is consistent only if the queue is at rest.
// The cost grows with the number of shards, not with that of items or groups.
func (q *Queue[T]) Stats() Stats { return q.made().stats() }

// Snapshot returns a description of the queue with at most limit items of each
// state. Without [Options].Ages, the choice among many is random. Snapshot goes
// from shard to shard. It misses no item that stays in its state, and returns
// none twice.
func (q *Queue[T]) Snapshot(limit int) Snapshot[T] {
	s := q.made().snapshot(limit)
	return Snapshot[T]{
		Time: s.Time, Stats: s.Stats,
		Processing: typedRows[T](s.Processing), Ready: typedRows[T](s.Ready), Delayed: typedRows[T](s.Delayed),
	}
}

// All returns an iterator over all items in a state. It goes from shard to
// shard, with no lock held while the loop runs. An item that enters or leaves
// the state meanwhile may be missing. None comes twice.
//
// Within a shard, ready items come in the order in which they will be handed
// out, group by group. Delayed items come in the order of their deadlines. With
// [Options].Ages, the items longest in processing come first.
func (q *Queue[T]) All(state stats.State) iter.Seq[stats.Item[T]] {
	rows := q.made().all(state)
	return func(yield func(stats.Item[T]) bool) {
		rows(func(row stats.Item[any]) bool { return yield(typedRow(&row, itemOf[T](row.Item))) })
	}
}

// Lookup returns what the queue knows of an item, except its Worker, and
// whether the queue holds the item. It takes constant time.
func (q *Queue[T]) Lookup(item T) (found stats.Item[T], ok bool) {
	held, row, ok := q.set().Lookup(item)
	if ok {
		row.Attempts = q.limiter.NumRequeues(held)
		found = typedRow(&row, held)
	}
	return found, ok
}

// Below a queue, rows have their items as any, so that the code that makes them
// is compiled once.

func itemOf[T comparable](item any) T {
	typed, _ := engine.ItemOf[T](item)
	return typed
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
		typed[i] = typedRow(&rows[i], itemOf[T](rows[i].Item))
	}
	return typed
}

func (b *base) stats() Stats { return b.complete(b.core.Stats()) }

// complete adds workers, attempts and values to the statistics of the shards.
func (b *base) complete(st Stats) Stats {
	st.Workers, st.Limited = b.slots.open(), b.above.limited()
	st.Outages, st.OutageFailures = b.outcomes.outage.read()
	if st.Metrics != nil {
		b.outcomes.attempts.AddTo(&st.Metrics.Attempts)
	}
	if b.values != nil {
		st.Values = b.values()
		st.Values.Lingering = min(st.Values.Lingering, st.Delayed)
	}
	return st
}

func (b *base) snapshot(limit int) Snapshot[any] {
	now := b.clock.Now()
	s := b.core.Inspect(limit)
	s.Time, s.Stats = now, b.complete(s.Stats)
	workers := b.slots.workers()
	for _, rows := range [...][]stats.Item[any]{s.Processing, s.Ready, s.Delayed} {
		for i := range rows {
			b.describe(&rows[i], workers)
		}
	}
	return s
}

// describe adds the failures of the item and its worker to a row of the shards.
func (b *base) describe(row *stats.Item[any], workers map[any]int) {
	row.Attempts = b.above.failures(row.Item)
	if row.State == stats.Processing {
		row.Worker = workers[row.Item]
	}
}

// workersIf returns the workers by item, or nil if items in that state have none.
func (b *base) workersIf(state stats.State) map[any]int {
	if state != stats.Processing {
		return nil
	}
	return b.slots.workers()
}

func (b *base) all(state stats.State) iter.Seq[stats.Item[any]] {
	return func(yield func(stats.Item[any]) bool) {
		workers := b.workersIf(state)
		b.core.Items(state)(func(row stats.Item[any]) bool {
			b.describe(&row, workers)
			return yield(row)
		})
	}
}

// left returns the rows of all that the queue holds.
func (b *base) left() []stats.Item[any] {
	rows := b.core.Left()
	for i := range rows {
		rows[i].Attempts = b.above.failures(rows[i].Item)
	}
	return rows
}

// stuck completes and logs the row of an item that is stuck.
func (b *base) stuck(row *stats.Item[any]) {
	row.Attempts = b.above.failures(row.Item)
	if b.log != nil {
		b.log.stuck(row.Item, b.clock.Now().Sub(row.Since), row.Attempts)
	}
}

func (b *base) hasFailed(item any) bool { return b.above.failures(item) > 0 }

// A typeless is the queue that its base sees: it implements [above].
type typeless[T comparable] Queue[T]

func (t *typeless[T]) groupOf(item any) string { return groupOf((*Queue[T])(t), itemOf[T](item)) }
func (t *typeless[T]) failures(item any) int   { return t.limiter.NumRequeues(itemOf[T](item)) }

func (t *typeless[T]) limited() int {
	if census, ok := t.limiter.(limiter.Census[T]); ok {
		return census.Len()
	}
	return -1
}

func (t *typeless[T]) mostFailed(limit int) (items []limiter.Failed[any]) {
	census, ok := t.limiter.(limiter.Census[T])
	if !ok {
		return nil
	}
	for _, row := range census.MostFailed(limit) {
		items = append(items, limiter.Failed[any]{Item: row.Item, Failures: row.Failures})
	}
	return items
}

// A program instantiates [Queue] for its own key type, in a package that
// imports shardq and not shard. There the compiler can inline the small
// functions of shard only if shardq exports their bodies, and it exports the
// bodies that it has inlined itself (exportBody in
// cmd/compile/internal/noder/linker.go). This line makes it do so. The linker
// leaves the line out. See decision 24 in docs/internals.
var _ = []any{(*Queue[uint64])(nil), func(l *itemlimit.Limiter) { l.Notify() }}

// Inspect returns a view of the queue that does not depend on the type of its
// items, for pages and exporters. It makes a Queue an [Inspector].
func (q *Queue[T]) Inspect() stats.Inspection { return &inspection[T]{inspected{q.made()}, q} }

// An inspection has the methods that need the type, and inspected the others.
type inspection[T comparable] struct {
	inspected
	queue *Queue[T]
}

type inspected struct{ base *base }

func (i *inspected) Configuration() stats.Configuration              { return i.base.configuration }
func (i *inspected) Snapshot(limit int) Snapshot[any]                { return i.base.snapshot(limit) }
func (i *inspected) All(state stats.State) iter.Seq[stats.Item[any]] { return i.base.all(state) }
func (i *inspected) TimeLeft() stats.Histogram                       { return i.base.core.TimeLeft() }

func (i *inspected) RecentFailures(limit int) (failed, discarded []stats.Failure[any]) {
	return i.base.outcomes.recent(limit)
}

func (i *inspected) MostRetried(limit int) []limiter.Failed[any] {
	return i.base.above.mostFailed(limit)
}

func (i *inspected) GroupAttempts(limit int) []stats.GroupAttempts {
	if i.base.outcomes.attempts == nil {
		return nil
	}
	return i.base.outcomes.attempts.Groups(limit)
}

// KeepWaits, Failing, Ending and HandlerContext are for workers.
func (i *inspected) KeepWaits()              { i.base.core.KeepWaits() }
func (i *inspected) Failing() *atomic.Bool   { return &i.base.outcomes.failing }
func (i *inspected) Ending() context.Context { return i.base.core.Ending() }

func (i *inspected) HandlerContext(c context.Context) context.Context {
	return i.base.core.HandlerContext(c)
}

func (i *inspection[T]) Lookup(item any) (row stats.Item[any], ok bool) {
	typed, ok := engine.ItemOf[T](item)
	if ok {
		typed, row, ok = i.queue.shards.Lookup(typed)
	}
	if ok {
		row.Item = typed
		i.base.describe(&row, i.base.workersIf(row.State))
	}
	return row, ok
}

func (i *inspection[T]) Operator() stats.Operator { return &operator[T]{i.queue} }

// An operator embeds nothing, because the compiler would make wrappers of all
// methods of a Queue for each type.
type operator[T comparable] struct{ queue *Queue[T] }

func (o *operator[T]) RetryNow(item any) bool {
	typed, ok := engine.ItemOf[T](item)
	return ok && o.queue.shards.EndDelay(typed)
}

func (o *operator[T]) Cancel(item any) (was Canceled) {
	if typed, ok := engine.ItemOf[T](item); ok {
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
		Shards: q.shards, Tokens: q.base.tokens, Owner: q.claims(), ReturnDelay: q.returnDelay,
		OnStats: q.base.onStats,
		Drain:   q.drainUntil, EndedEarly: q.drainEndedEarly, LogShutDown: q.base.logShutDown,
	}
}

// AddWith is [Queue.AddWith]. It returns [ErrNotAgain] if a window refuses the
// add. An add without a window returns nil, also after a shutdown.
func (i *inspection[T]) AddWith(item T, options AddOptions) error {
	delay := i.queue.made().delay(&options)
	if delay.Window > 0 {
		return i.queue.shards.AddInWindow(item, delay)
	}
	i.queue.shards.AddWith(item, delay)
	return nil
}

// Holds, NextOf and OpenSlot are for workers.
func (i *inspection[T]) Holds(item T) bool {
	_, _, held := i.queue.shards.Lookup(item)
	return held
}

func (i *inspection[T]) NextOf(source any) func(*worker.Claim[T]) (bool, error) {
	if source != any(i.queue) { // it may embed the queue, and take items in its own way
		return nil
	}
	return i.queue.doneAndNext
}

func (i *inspection[T]) OpenSlot() (number int, show func(items []T), closeSlot func()) {
	s := &slot[T]{}
	number, closeSlot = i.base.slots.add(s)
	if i.base.configuration.Metrics {
		show = s.show
	}
	return number, show, closeSlot
}

func (o *queueClaims[T]) ClaimGroup(token worker.Token) string {
	return o.base.core.GroupAt(o.base.tokens.Handle(token))
}

func (o *queueClaims[T]) ClaimWaited(token worker.Token) (waited time.Duration, ok bool) {
	return o.base.core.Waited(o.base.tokens.Handle(token))
}

func (o *queueClaims[T]) ClaimChanges(token worker.Token) (addedAgain, canceled bool) {
	return o.base.core.Changed(o.base.tokens.Handle(token))
}

func (o *queueClaims[T]) WatchClaim(token worker.Token, tell func(cause error)) (stop func()) {
	return o.base.core.Watch(o.base.tokens.Handle(token), func(what shard.Change) {
		cause := worker.ErrAddedAgain
		if what == shard.CanceledInFlight {
			cause = worker.ErrItemCanceled
		}
		tell(cause)
	})
}
