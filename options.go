package shardq

import (
	"errors"
	"fmt"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/shard"
)

// MaxShards is the largest number of shards that a queue can have.
const MaxShards = shard.MaxShards

// DefaultTick is the resolution of delays when [Options].Tick is zero.
const DefaultTick = time.Millisecond

// Options configure a [Queue]. The zero Options is a complete queue. [New] reads
// them once and keeps no reference to the struct; they are never modified.
type Options[T comparable] struct {
	// Name labels the queue wherever it is looked at, such as in what the misuse
	// hook is told. It need not be unique. Default: none.
	Name string

	// Shards is the number of independent shards, 1 to [MaxShards]. One shard
	// hands items out in strict order of their becoming ready, as client-go
	// does; more of them relax the order between items (never the promises) and
	// let goroutines work side by side. Default: [shard.DefaultShards], which
	// grows with GOMAXPROCS.
	Shards int

	// RateLimiter decides how long AddRateLimited holds an item back. Default:
	// per item, 5 ms doubling with each requeue up to 1000 s, as client-go's
	// DefaultTypedItemBasedRateLimiter has it with a base of 5 ms.
	RateLimiter limiter.Limiter[T]

	// Clock is the queue's source of time. Default: [clock.Real].
	Clock clock.Clock

	// Tick is the resolution of delays: an item becomes ready at the first tick
	// at or after its deadline, so never early, and in the order of ticks.
	// Default: [DefaultTick]. Finer ticks cost more wake-ups, and the Go
	// runtime does not keep sleeps much below a millisecond.
	Tick time.Duration

	// Hash routes an item to a shard in place of the queue's own seeded hash:
	// items of one hash share a shard. Equal items must have equal hashes. It
	// routes only: look-ups within a shard always use a seeded hash, so a poor
	// Hash skews the load but never makes an operation slow. It is called once
	// in most calls that take an item, with no lock held. Default: none.
	Hash func(item T) uint64

	// StableRouting routes with an unseeded xxhash of the item's value, so that
	// an item lands on the shard of the same number in every process with the
	// same number of shards. T must be made of strings, booleans, integers, and
	// arrays and structs of them. Whoever chooses the items can then choose
	// their shard. Default: false, each queue has a seed of its own.
	StableRouting bool

	// CancelDelayOnAdd makes an Add of a waiting item cancel its delay, as
	// controller-runtime's priority queue does. Default: false: the delay goes
	// on and adds the item again when it ends, as in client-go.
	CancelDelayOnAdd bool

	// OnMisuse is told of each call that breaks the rules and was ignored, such
	// as a second Done. It runs in the goroutine of that call, with no lock
	// held, so it may use the queue. It must be safe for concurrent use.
	// Default: misuse is only counted.
	OnMisuse func(Misuse[T])
}

// Misuse describes a call that the queue ignored because it breaks the rules.
type Misuse[T comparable] struct {
	// Queue is the Name of the queue.
	Queue string
	// Kind says which rule was broken.
	Kind MisuseKind
	// Item is the argument of the call.
	Item T
}

// MisuseKind names the rule that a call broke.
type MisuseKind = shard.Misuse

const (
	// DoneWithoutGet is a Done of an item that is not in processing: it was
	// never handed out, or its Done was called already.
	DoneWithoutGet = shard.DoneWithoutGet
	// ItemNotEqualToItself is an item such as a floating-point NaN, that no
	// look-up could find again. The queue takes none in.
	ItemNotEqualToItself = shard.ItemNotEqualToItself
)

// withDefaults returns the options with every zero field replaced.
func (o Options[T]) withDefaults() Options[T] {
	if o.Shards == 0 {
		o.Shards = shard.DefaultShards()
	}
	if o.RateLimiter == nil {
		o.RateLimiter = limiter.NewExponential[T](5*time.Millisecond, 1000*time.Second)
	}
	if o.Clock == nil {
		o.Clock = clock.Real()
	}
	if o.Tick == 0 {
		o.Tick = DefaultTick
	}
	return o
}

// route returns the function that routes items, or nil for the queue's own hash.
func (o Options[T]) route() func(item T) uint64 {
	if !o.StableRouting {
		return o.Hash
	}
	route, _ := shard.StableRoute[T]() // validated
	return route
}

// misuseHook returns OnMisuse as the shards call it, or nil.
func (o Options[T]) misuseHook() func(kind shard.Misuse, item T) {
	name, hook := o.Name, o.OnMisuse
	if hook == nil {
		return nil
	}
	return func(kind shard.Misuse, item T) {
		hook(Misuse[T]{Queue: name, Kind: kind, Item: item})
	}
}

// validate returns one error that names every fault, or nil.
func (o Options[T]) validate() error {
	var faults []error
	fault := func(format string, arguments ...any) {
		faults = append(faults, fmt.Errorf("shardq: "+format, arguments...))
	}
	if o.Shards < 0 || o.Shards > MaxShards {
		fault("Options.Shards is %d: want 0 (the default) to %d", o.Shards, MaxShards)
	}
	if o.Tick < 0 {
		fault("Options.Tick is %v: want 0 (the default) or more", o.Tick)
	}
	if o.Hash != nil && o.StableRouting {
		fault("Options.Hash and Options.StableRouting are both set: want at most one")
	}
	if o.StableRouting {
		if _, err := shard.StableRoute[T](); err != nil {
			fault("Options.StableRouting: %w", err)
		}
	}
	return errors.Join(faults...)
}
