package shardq

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/internal/attempts"
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
)

// A base is the part of a [Queue] that touches no item, or has items as any. It
// is compiled once, whatever the items are.
type base struct {
	core   *shard.Core // nil if the queue was not made by New
	name   string
	clock  clock.Clock
	above  above
	tokens engine.Tokens

	configuration stats.Configuration
	slots         slots
	log           *eventLog // nil if there is no logger
	endLogged     atomic.Bool
	values        func() *stats.Values // of a coalescer, or else nil
	outcomes      outcomes
	firsts        attempts.Firsts
}

// above is what a base asks of its queue, whose type it does not know.
type above interface {
	groupOf(item any) string
	failures(item any) int // according to the limiter
	limited() int          // the items that the limiter has failures of, or -1 if it does not say
	mostFailed(limit int) []limiter.Failed[any]
}

// init comes before the shards are made, and so before core is set. item is a
// pointer to one.
func (b *base) init(name string, s *shard.Settings, g given, log *eventLog, above above, limiter, item any) {
	b.name, b.clock, b.log, b.above, b.firsts = name, s.Clock, log, above, attempts.NewFirsts()
	b.configuration = configuration(s, g)
	b.configuration.Name, b.configuration.Limiter = name, fmt.Sprintf("%T", limiter)
	b.configuration.Item = reflect.TypeOf(item).Elem().String()
	b.tokens = engine.Tokens{First: uint64(max(0, b.configuration.Created.UnixNano())), Shards: s.Shards}
	b.outcomes.log, b.outcomes.groupOf = log, above.groupOf
	if s.Metrics {
		b.outcomes.attempts = attempts.New()
	}
}

func (b *base) onStats(values func() *stats.Values) { b.values = values }

func (b *base) stats() Stats { return b.complete(b.core.Stats()) }

// complete adds what the shards do not know.
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

// describe adds to a row what the shards do not know.
func (b *base) describe(row *stats.Item[any], workers map[any]int) {
	row.Attempts = b.above.failures(row.Item)
	if row.State == stats.Processing {
		row.Worker = workers[row.Item]
	}
}

// workersIf returns the workers of the items that are in a state.
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

// delay returns the options without the limiter's delay.
func (b *base) delay(o *AddOptions) (d shard.Delay) {
	if !o.Policy.Valid() {
		panic(fmt.Sprintf("shardq: AddOptions.Policy is %d: want KeepEarliest, KeepLatest, KeepNew or KeepOld", o.Policy))
	}
	d = shard.Delay{
		Duration: o.After, Policy: o.Policy, MaxWait: o.MaxWait, Priority: o.Priority,
		Retry: o.RateLimited || o.After != 0, Window: o.NotAgainWithin,
	}
	if !o.At.IsZero() {
		d.Until, d.Retry = b.core.Moment(o.At), true
	}
	return d
}

func (b *base) groups() *shard.Core {
	if !b.configuration.Groups {
		panic("shardq: the queue has no groups: want Options.Group")
	}
	return b.core
}

func (b *base) setRate(r Rate) {
	if err := r.Validate(); err != nil {
		panic(fmt.Errorf("shardq: SetRate: %w", err))
	}
	b.core.SetRate(r)
}

func (b *base) logDrainEndedEarly(ctx context.Context, processing, ready, delayed int, cause error) {
	if b.log != nil {
		b.log.drainEndedEarly(ctx, processing, ready, delayed, cause)
	}
}

func (b *base) logShutDown() {
	if b.log != nil && b.endLogged.CompareAndSwap(false, true) {
		b.log.shutDown(b.core.Stats())
	}
}

// now reads the clock. It returns the real time if the clock panics, because
// that must not end a worker.
func (b *base) now() (now time.Time) {
	defer func() {
		if recover() != nil {
			now = time.Now()
		}
	}()
	return b.clock.Now()
}
