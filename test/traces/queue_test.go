package traces

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
)

// A namedQueue is a queue whose methods take the names that items have in a
// trace. It hides the items' type.
type namedQueue interface {
	add(name string)
	addAfter(name string, d time.Duration)
	addRateLimited(name string)
	addWith(name string, options shardq.AddOptions)
	addBatch(names []string)
	addBatchAfter(names []string, d time.Duration)
	// tryAdd and addContext return the outcome.
	tryAdd(name string) string
	addContext(ctx context.Context, name string) string
	cancel(name string) shardq.Canceled
	// get returns an item, or the reason why there is none.
	get() (name string, reason string)
	getContext(ctx context.Context) (name string, reason string)
	getBatch(ctx context.Context, n int) (names []string, reason string)
	items(ctx context.Context) iter.Seq[string]
	claim(ctx context.Context) (c claim, reason string)
	tryClaim() (c claim, ok bool)
	claimBatch(ctx context.Context, n int) (claims []claim, reason string)
	// endClaim and doneClaims return why a claim could not be ended.
	endClaim(c claim, way string, d time.Duration) string
	doneClaims(claims []claim) string
	valid(c claim) bool
	fence(c claim) uint64
	priority(c claim) int
	done(name string)
	doneBatch(names []string)
	forget(name string)
	requeues(name string) int
	// when calls the limiter directly.
	when(name string) time.Duration
	shutDown()
	shutDownWithDrain()
	drain(ctx context.Context, options shardq.DrainOptions) (dropped []string, err error)
	snapshot(limit int) shardq.Snapshot[string]
	lookup(name string) (row stats.Item[string], held bool)
	groups() iter.Seq[stats.Group]
	all(state stats.State) iter.Seq[stats.Item[string]]
	shuttingDown() bool
	len() int
	stats() shardq.Stats
	name() string
	// end is a ShutDown that no spoiled queue changes.
	end()
}

// machinery is what the replayer gives to a queue beside the settings of its
// scenario.
type machinery struct {
	shards   int
	clock    clock.Clock
	route    func(name string) uint64 // nil for the queue's own
	misused  func(queue string, kind stats.MisuseKind, name string)
	marked   func(shardq.Watermark)
	stuck    func(stats.Item[string])
	userCode *userCode
}

// typed is a namedQueue of items of a type.
type typed[T comparable] struct {
	kind    kind[T]
	queue   *shardq.Queue[T]
	limiter limiter.Limiter[T]
}

func (q typed[T]) add(name string)                       { q.queue.Add(q.kind.must(name)) }
func (q typed[T]) addAfter(name string, d time.Duration) { q.queue.AddAfter(q.kind.must(name), d) }
func (q typed[T]) addRateLimited(name string)            { q.queue.AddRateLimited(q.kind.must(name)) }
func (q typed[T]) addBatch(names []string)               { q.queue.AddBatch(q.listed(names), shardq.AddOptions{}) }
func (q typed[T]) addBatchAfter(names []string, d time.Duration) {
	q.queue.AddBatch(q.listed(names), shardq.AddOptions{After: d})
}
func (q typed[T]) doneBatch(names []string)           { doneBatch(q.queue, q.listed(names)) }
func (q typed[T]) cancel(name string) shardq.Canceled { return q.queue.Cancel(q.kind.must(name)) }
func (q typed[T]) done(name string)                   { q.queue.Done(q.kind.must(name)) }
func (q typed[T]) forget(name string)                 { q.queue.Forget(q.kind.must(name)) }
func (q typed[T]) lookup(name string) (row stats.Item[string], held bool) {
	found, held := q.queue.Lookup(q.kind.must(name))
	return rename(q.kind, found), held
}

func (q typed[T]) requeues(name string) int       { return q.queue.NumRequeues(q.kind.must(name)) }
func (q typed[T]) when(name string) time.Duration { return q.limiter.When(q.kind.must(name)) }
func (q typed[T]) shutDown()                      { q.queue.ShutDown() }
func (q typed[T]) shutDownWithDrain()             { q.queue.ShutDownWithDrain() }
func (q typed[T]) end()                           { q.queue.ShutDown() }
func (q typed[T]) shuttingDown() bool             { return q.queue.ShuttingDown() }
func (q typed[T]) len() int                       { return q.queue.Len() }
func (q typed[T]) stats() shardq.Stats            { return q.queue.Stats() }
func (q typed[T]) name() string                   { return q.queue.Name() }

// The reasons why a Get returns no item.
const (
	shutDown   = "shutdown"
	isCanceled = "is canceled"
)

func (q typed[T]) get() (name string, reason string) {
	item, shutdown := q.queue.Get()
	if shutdown {
		return "", shutDown + q.unlessZero(item)
	}
	return q.kind.name(item), ""
}

func (q typed[T]) getContext(ctx context.Context) (name string, reason string) {
	item, err := q.queue.GetContext(ctx)
	return q.reasonOf(item, err)
}

// reasonOf returns the name of an item, or the reason why there is none.
func (q typed[T]) reasonOf(item T, err error) (name string, reason string) {
	switch {
	case err == nil:
		return q.kind.name(item), ""
	case errors.Is(err, shardq.ErrShutDown):
		return "", shutDown + q.unlessZero(item)
	case errors.Is(err, context.Canceled):
		return "", isCanceled + q.unlessZero(item)
	default:
		return "", err.Error()
	}
}

// unlessZero names an item that was returned with an error.
func (q typed[T]) unlessZero(item T) string {
	var zero T
	if item == zero {
		return ""
	}
	return " with item " + q.kind.name(item)
}

func (q typed[T]) addWith(name string, options shardq.AddOptions) {
	q.queue.AddWith(q.kind.must(name), options)
}

// listed returns the items of names.
func (q typed[T]) listed(names []string) []T {
	items := make([]T, len(names))
	for i, name := range names {
		items[i] = q.kind.must(name)
	}
	return items
}

// namesOf returns the names of items.
func (q typed[T]) namesOf(items []T) []string {
	names := make([]string, len(items))
	for i, item := range items {
		names[i] = q.kind.name(item)
	}
	return names
}

func (q typed[T]) tryAdd(name string) string {
	return admission(q.queue.TryAdd(q.kind.must(name), shardq.AddOptions{}))
}

func (q typed[T]) addContext(ctx context.Context, name string) string {
	return admission(q.queue.AddContext(ctx, q.kind.must(name), shardq.AddOptions{}))
}

// admission describes the result of an add that honors the capacity.
func admission(err error) string {
	refusal, known := refusals[err]
	switch {
	case err == nil:
		return admitted
	case known:
		return refusal
	case errors.Is(err, context.Canceled):
		return isCanceled
	}
	return err.Error()
}

func (q typed[T]) getBatch(ctx context.Context, n int) (names []string, reason string) {
	dst := make([]T, n)
	got, err := getBatch(q.queue, ctx, dst)
	if err != nil {
		_, reason = q.reasonOf(*new(T), err)
	}
	return q.namesOf(dst[:got]), reason
}

func (q typed[T]) items(ctx context.Context) iter.Seq[string] {
	return func(yield func(string) bool) {
		for item := range q.queue.Items(ctx) {
			if !yield(q.kind.name(item)) {
				return
			}
		}
	}
}

func (q typed[T]) drain(ctx context.Context, options shardq.DrainOptions) (dropped []string, err error) {
	items, err := q.queue.Drain(ctx, options)
	var left *shardq.DrainError[T]
	if errors.As(err, &left) {
		err = &leftOver{
			error: err, queue: left.Queue, items: renameAll(q.kind, left.Left()),
			ready: left.Ready, processing: left.Processing, delayed: left.Delayed,
		}
	}
	return q.namesOf(items), err
}

func (q typed[T]) snapshot(limit int) shardq.Snapshot[string] {
	s := q.queue.Snapshot(limit)
	return shardq.Snapshot[string]{
		Time: s.Time, Stats: s.Stats,
		Processing: renameAll(q.kind, s.Processing),
		Ready:      renameAll(q.kind, s.Ready),
		Delayed:    renameAll(q.kind, s.Delayed),
	}
}

func (q typed[T]) groups() iter.Seq[stats.Group] { return q.queue.Groups() }

func (q typed[T]) all(state stats.State) iter.Seq[stats.Item[string]] {
	return renamed(q.kind, q.queue.All(state))
}

// open returns a queue with the settings of a scenario.
func (k kind[T]) open(s *settings, m *machinery) (namedQueue, error) {
	options := shardq.Options[T]{
		Name:                s.name,
		Shards:              m.shards,
		Clock:               m.clock,
		Tick:                s.tick,
		Capacity:            s.capacity,
		LowPriorityInterval: s.lowPriority,
		Ages:                s.ages,
		Metrics:             s.metrics,
		StuckAfter:          s.stuckAfter,
		OnMisuse:            func(misuse shardq.Misuse[T]) { m.misused(misuse.Queue, misuse.Kind, k.name(misuse.Item)) },
	}
	if s.hasWatermarks {
		options.Watermarks = shardq.Watermarks{Low: s.low, High: s.high, On: m.marked}
	}
	if s.stuckAfter > 0 {
		options.OnStuck = func(row stats.Item[T]) { m.stuck(rename(k, row)) }
	}
	if s.groups {
		options.Group = func(item T) string { return groupOf(k.name(item)) }
		options.GroupPolicy = func(group string) shardq.GroupPolicy {
			return shardq.GroupPolicy{Weight: s.groupWeights[group], Limit: s.groupLimit}
		}
	}
	if m.route != nil {
		options.Hash = func(item T) uint64 { return m.route(k.name(item)) }
	}
	asked, err := newLimiter[T](s.limiter, limiter.Options{Clock: m.clock})
	if err != nil {
		return nil, err
	}
	if asked != nil {
		options.RateLimiter = userLimiter[T]{asked, m.userCode}
	}
	queue, err := shardq.New(options)
	if err == nil {
		engine.Follow(queue, shard.Rules{
			CancelDelayOnAdd:      s.cancelDelayOnAdd,
			DropDelayIfReady:      s.dropDelayIfReady,
			KeepPlaces:            s.keepPlaces,
			DiscardOnShutDown:     s.discards,
			PrioritiesBeforeTurns: s.prioritiesFirst,
		})
	}
	return typed[T]{k, queue, asked}, err
}
