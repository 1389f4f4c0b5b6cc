package traces

import (
	"context"
	"errors"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
)

// A namedQueue is a queue whose items go by the names that they have in a trace,
// whatever their type is.
type namedQueue interface {
	add(name string)
	addAfter(name string, d time.Duration)
	addRateLimited(name string)
	// get returns an item, or a reason for there being none.
	get() (name string, reason string)
	getContext(ctx context.Context) (name string, reason string)
	done(name string)
	forget(name string)
	requeues(name string) int
	// when asks the limiter, past the queue.
	when(name string) time.Duration
	shutDown()
	shutDownWithDrain()
	shuttingDown() bool
	len() int
	stats() shardq.Stats
	name() string
	// end is a ShutDown, also of a queue that is spoiled.
	end()
}

// Machinery is what the replayer gives to a queue beside the settings of its scenario.
type machinery struct {
	shards   int
	clock    clock.Clock
	route    func(name string) uint64 // nil for the queue's own
	misused  func(queue string, kind shardq.MisuseKind, name string)
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
func (q typed[T]) done(name string)                      { q.queue.Done(q.kind.must(name)) }
func (q typed[T]) forget(name string)                    { q.queue.Forget(q.kind.must(name)) }
func (q typed[T]) requeues(name string) int              { return q.queue.NumRequeues(q.kind.must(name)) }
func (q typed[T]) when(name string) time.Duration        { return q.limiter.When(q.kind.must(name)) }
func (q typed[T]) shutDown()                             { q.queue.ShutDown() }
func (q typed[T]) shutDownWithDrain()                    { q.queue.ShutDownWithDrain() }
func (q typed[T]) end()                                  { q.queue.ShutDown() }
func (q typed[T]) shuttingDown() bool                    { return q.queue.ShuttingDown() }
func (q typed[T]) len() int                              { return q.queue.Len() }
func (q typed[T]) stats() shardq.Stats                   { return q.queue.Stats() }
func (q typed[T]) name() string                          { return q.queue.Name() }

// The reasons why a Get returns no item.
const (
	toldOfShutdown = "shutdown"
	givesUp        = "gives up"
)

func (q typed[T]) get() (name string, reason string) {
	item, shutdown := q.queue.Get()
	if shutdown {
		return "", toldOfShutdown + q.unlessZero(item)
	}
	return q.kind.name(item), ""
}

func (q typed[T]) getContext(ctx context.Context) (name string, reason string) {
	switch item, err := q.queue.GetContext(ctx); {
	case err == nil:
		return q.kind.name(item), ""
	case errors.Is(err, shardq.ErrShutDown):
		return "", toldOfShutdown + q.unlessZero(item)
	case errors.Is(err, context.Canceled):
		return "", givesUp + q.unlessZero(item)
	default:
		return "", err.Error()
	}
}

// unlessZero names an item that should not be there.
func (q typed[T]) unlessZero(item T) string {
	var zero T
	if item == zero {
		return ""
	}
	return " with item " + q.kind.name(item)
}

// open makes the queue that a trace asks for.
func (k kind[T]) open(s *settings, m *machinery) (namedQueue, error) {
	options := shardq.Options[T]{
		Name:             s.name,
		Shards:           m.shards,
		Clock:            m.clock,
		Tick:             s.tick,
		CancelDelayOnAdd: s.cancelDelayOnAdd,
		OnMisuse:         func(misuse shardq.Misuse[T]) { m.misused(misuse.Queue, misuse.Kind, k.name(misuse.Item)) },
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
	return typed[T]{k, queue, asked}, err
}
