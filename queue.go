// Package shardq is an in-process work queue of distinct items. It has the
// methods and the contract of client-go's workqueue, on which Kubernetes
// controllers are built, and spreads the work over independent shards.
//
//	queue := shardq.MustNew(shardq.Options[string]{})
//	queue.Add("orders/17") // any number of producers
//	err := queue.Run(ctx, 8, func(ctx context.Context, key string) error {
//		return reconcile(ctx, key) // an error runs the key again, after a backoff
//	})
//
// An item that is queued is queued once, however often it is added. No two
// workers ever have the same item. An item that is added while a worker has it
// runs once more. The documentation of [Queue] is the manual.
//
// The other packages:
//
//   - Package worker has worker pools.
//   - Package coalesce has a queue of keys with values that merge.
//   - Package limiter has the rate limiters.
//   - Package clock has injected time.
//   - The packages below observe show a queue while it runs.
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

// A Queue is a work queue of distinct items of type T. It must be made by [New]
// or [MustNew], and must not be copied. All methods are safe for concurrent
// use. A method blocks only if its comment says so.
//
// Most programs need few of them:
//
//   - add: [Queue.Add], [Queue.AddAfter], [Queue.AddRateLimited], and
//     [Queue.AddWith] for priorities, deadlines and batches;
//   - work: [Queue.Run] calls a handler. [Queue.Claim], [Queue.Items] or
//     [Queue.Get] are for a loop of your own;
//   - stop: [Queue.Drain] or [Queue.ShutDown];
//   - look: [Queue.Stats] and [Queue.Snapshot].
//
// An item that is ready is in the queue once, however often it is added. If it
// is added while a consumer has it, it is dirty, and runs once more:
//
//	        Add                 Get                  Done
//	idle ──────────▶ ready ──────────▶ processing ──────────▶ idle
//	                  ▲                    │ Add
//	                  │        Done        ▼
//	                  └───────────────── dirty
//
// A delayed item is added when its delay ends. The queue promises:
//
//   - Exclusion: no two consumers have an item at the same time.
//   - No lost add: after every Add before a shutdown, a Get returns the item.
//   - No lost wake-up: no Get blocks while an item may be handed out.
//   - Delays never expire early.
//
// With one shard, the order is first in, first out. An Add synchronizes before
// the return of the Get that serves it, and a Done before the next Get of the
// item. docs/reference/semantics.md in the repository has every clause.
//
// A *Queue[T] is assignable to client-go's TypedRateLimitingInterface[T].
type Queue[T comparable] struct {
	shards  *shard.Set[T] // nil if the queue was not made by New
	limiter limiter.Limiter[T]
	group   func(item T) string // or nil

	// ownLimiter says that the options named no limiter, and unfailed that it
	// was never asked for a delay: see mayHaveFailed.
	ownLimiter bool
	unfailed   atomic.Bool

	base base
}

// New returns a queue, or an error that lists every fault of the options. It
// starts no goroutine. A queue that nothing refers to is garbage collected with
// its items, without a ShutDown, and calls no more hooks.
func New[T comparable](options Options[T]) (*Queue[T], error) {
	settings, given := settingsOf(&options), givenOf(&options)
	if err := validate(&settings, given); err != nil {
		return nil, err
	}
	fillIn(&settings)
	q := &Queue[T]{limiter: options.RateLimiter, group: options.Group, ownLimiter: options.RateLimiter == nil}
	if q.ownLimiter {
		q.limiter = limiter.NewExponential[T](5*time.Millisecond, 1000*time.Second)
	}
	q.unfailed.Store(true)
	log := newEventLog(options.Logger, options.Name, options.LogItems)
	q.base.init(options.Name, &settings, given, log, (*typeless[T])(q), q.limiter, (*T)(nil))
	q.base.configuration.Uncounted = !limiter.Counts(q.limiter)
	settings.OnWatermark = watermarkHook(options.Name, options.Watermarks, log)
	settings.OnStuck = stuckHook(&options, &q.base)
	if log != nil {
		settings.OnDropped = log.droppedAdds
	}
	q.shards = shard.New(shard.Config[T]{
		Settings: settings,
		Route:    routeOf(&options),
		Group:    options.Group,
		Backoff:  q.backoff,
		Forget:   q.forget,
		OnAdd:    options.OnAdd,
		OnMisuse: misuseHook(options.Name, log, options.OnMisuse),
	})
	q.base.begin(q.shards.Core)
	return q, nil
}

// MustNew is like [New] but panics if the options have a fault.
func MustNew[T comparable](options Options[T]) *Queue[T] {
	q, err := New(options)
	if err != nil {
		panic(err.Error())
	}
	return q
}

// set returns the shards. Every method calls set or made.
func (q *Queue[T]) set() *shard.Set[T] {
	_ = q.made()
	return q.shards
}

func (q *Queue[T]) made() *base {
	if q.shards == nil {
		panic("shardq: the Queue is not made by New")
	}
	return &q.base
}

// Name returns [Options].Name.
func (q *Queue[T]) Name() string {
	return q.made().name
}

var (
	// ErrFull is the error of [Queue.TryAdd] when there is no room.
	ErrFull = shard.ErrFull
	// ErrRejected is the error of an add of an item that is not equal to
	// itself, such as NaN.
	ErrRejected = shard.ErrRejected
	// ErrNotAgain is the error of an add that [AddOptions].NotAgainWithin refuses.
	ErrNotAgain = shard.ErrNotAgain
	// ErrShutDown is the error of a call after a shutdown.
	ErrShutDown = shard.ErrShutDown
)

// Get returns the next ready item and takes it into processing. The caller must
// call [Queue.Done] for it. Get blocks while no ready item may be handed out.
// After a shutdown has begun, it returns the items that are ready, and then the
// zero T and true, to every caller.
func (q *Queue[T]) Get() (item T, shutdown bool) { return q.set().Get() }

// GetContext is like [Queue.Get], but ends with ctx. It returns the next ready
// item, [ErrShutDown] when Get would return true, or ctx.Err() after ctx has
// ended. With an error, nothing was taken.
func (q *Queue[T]) GetContext(ctx context.Context) (item T, err error) {
	item, _, _, err = q.set().Take(ctx)
	return item, err
}

// Done ends the processing of an item that Get returned, whatever the result of
// the work. If the item was added meanwhile, it becomes ready again, last in
// its shard. A Done of an item that is not in processing changes nothing, and
// is counted in Stats.Misused. A late Done may end the processing of another
// consumer; the Done of a [Queue.Claim] cannot.
func (q *Queue[T]) Done(item T) { q.set().Done(item) }

// Len returns the depth of the queue: the number of ready items, including
// those of throttled groups. Delayed items, items in processing and dirty items
// are not ready.
func (q *Queue[T]) Len() int { return q.made().core.Len() }

// Pause stops the queue from handing out items. Adds go on, and delays go on
// expiring. A Get that has begun may still return an item. Pauses do not add
// up: one Resume ends them.
//
// In a drain, Gets and the drain go on waiting for the ready items. After
// [Queue.ShutDown], Gets report the shutdown, and the items stay ready.
func (q *Queue[T]) Pause() { q.made().core.Pause() }

// Resume ends a [Queue.Pause], and wakes parked consumers.
func (q *Queue[T]) Resume() { q.made().core.Resume() }

// A GroupPolicy says how the items of a group are handed out. Its fields are
// Weight, Limit and Rate.
type GroupPolicy = stats.GroupPolicy

// A Rate limits how many items are handed out in a time. Its fields are
// PerSecond and Burst.
type Rate = stats.Rate

// PauseGroup stops the items of a group from being handed out until a moment of
// the queue's clock, for example when a service answers with a Retry-After. The
// items stay ready: see [Queue.Pause]. A later PauseGroup replaces the pause. It
// panics without [Options].Group.
//
// If until is zero, the pause lasts until [Queue.ResumeGroup].
func (q *Queue[T]) PauseGroup(group string, until time.Time) {
	q.made().groups().PauseGroup(group, until)
}

// ResumeGroup ends the pause of a group, and wakes a parked consumer. It panics
// without [Options].Group.
func (q *Queue[T]) ResumeGroup(group string) { q.made().groups().ResumeGroup(group) }

// RefreshGroup calls [Options].GroupPolicy for a group, and lets the result
// count at once, rather than at the group's next item. A token that is earned
// in part is completed at the new rate. It panics without [Options].Group.
func (q *Queue[T]) RefreshGroup(group string) { q.made().groups().RefreshGroup(group) }

func (b *base) groups() *shard.Core {
	if !b.configuration.Groups {
		panic("shardq: the queue has no groups: want Options.Group")
	}
	return b.core
}

// Groups returns an iterator over the groups that have items or are paused, in
// no order. No lock is held while the loop runs.
func (q *Queue[T]) Groups() iter.Seq[stats.Group] { return q.made().core.Groups() }

// SetRate changes [Options].Rate. The tokens that are left stay, up to the new
// Burst. The zero Rate ends the limit. SetRate panics with the error of
// [Rate.Validate]. After a shutdown has begun, it cannot give a rate to a queue
// that had none.
func (q *Queue[T]) SetRate(r Rate) { q.made().setRate(r) }

func (b *base) setRate(r Rate) {
	if err := r.Validate(); err != nil {
		panic(fmt.Errorf("shardq: SetRate: %w", err))
	}
	b.core.SetRate(r)
}

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

// init is called before the shards are made, so core is still nil. item points to
// an item.
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

func (b *base) begin(core *shard.Core) {
	b.core = core
	if part := core.ComparedByAddress(); part != "" && b.log != nil {
		b.log.comparedByAddress(b.configuration.Item, part)
	}
}

func (b *base) onStats(values func() *stats.Values) { b.values = values }
