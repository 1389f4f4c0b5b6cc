package harness

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/stats"
)

// Actors use keys, 0 and up. The types below convert keys to items of several
// types and back.

// A Pair is an item that can be unequal to itself.
type Pair struct {
	Number int32
	Weight float32
}

// codec converts keys to items of type T and back.
type codec[T comparable] struct {
	encode func(key int) T
	decode func(item T) int
	// unequal is an item that is not equal to itself, if T has one.
	unequal T
}

var (
	intCodec = codec[int]{
		encode: func(key int) int { return key },
		decode: func(item int) int { return item },
	}
	stringCodec = codec[string]{
		encode: strconv.Itoa,
		decode: decodeString,
	}
	pairCodec = codec[Pair]{
		encode:  func(key int) Pair { return Pair{Number: int32(key)} },
		decode:  func(item Pair) int { return int(item.Number) },
		unequal: Pair{Number: -1, Weight: float32(math.NaN())},
	}
	anyCodec = codec[any]{
		encode: func(key int) any {
			if key%2 == 0 {
				return key
			}
			return strconv.Itoa(key)
		},
		decode: func(item any) int {
			switch item := item.(type) {
			case int:
				return item
			case string:
				return decodeString(item)
			default:
				return -1
			}
		},
		unequal: math.NaN(),
	}
)

func decodeString(item string) int {
	key, err := strconv.Atoi(item)
	if err != nil {
		return -1
	}
	return key
}

// Items names a type of items.
type Items int

const (
	intItems Items = iota
	stringItems
	pairItems
	anyItems
	itemTypes
)

func (i Items) String() string {
	return [...]string{"int", "string", "pair", "any"}[i]
}

// queue is a [Typed] queue of keys, for actors.
type queue interface {
	Typed[int]
	// getContext returns false where Get reports the shutdown, and err when ctx
	// ended.
	getContext(ctx context.Context) (key int, ok bool, err error)
	// addUnequal adds, in one of three ways, an item that is not equal to
	// itself.
	addUnequal(way int)
	// stats reports false if the queue has no counters.
	stats() (shardq.Stats, bool)
	// observable returns the queue itself, for a page.
	observable() shardq.Inspector
	// contextual reports whether getContext honors its context.
	contextual() bool
	controls
}

type adapted[T comparable] struct {
	Typed[T]
	control Controlled[T] // nil unless the queue is Controlled
	codec   codec[T]
}

func (a adapted[T]) Add(key int)                       { a.Typed.Add(a.codec.encode(key)) }
func (a adapted[T]) Done(key int)                      { a.Typed.Done(a.codec.encode(key)) }
func (a adapted[T]) AddAfter(key int, d time.Duration) { a.Typed.AddAfter(a.codec.encode(key), d) }
func (a adapted[T]) AddRateLimited(key int)            { a.Typed.AddRateLimited(a.codec.encode(key)) }
func (a adapted[T]) Forget(key int)                    { a.Typed.Forget(a.codec.encode(key)) }
func (a adapted[T]) NumRequeues(key int) int           { return a.Typed.NumRequeues(a.codec.encode(key)) }

func (a adapted[T]) Get() (key int, shutdown bool) {
	item, shutdown := a.Typed.Get()
	if shutdown {
		return 0, true
	}
	return a.codec.decode(item), false
}

func (a adapted[T]) getContext(ctx context.Context) (key int, ok bool, err error) {
	q, contextual := a.Typed.(Contextual[T])
	if !contextual {
		key, shutdown := a.Get()
		return key, !shutdown, nil
	}
	item, err := q.GetContext(ctx)
	switch err {
	case nil:
		return a.codec.decode(item), true, nil
	case shardq.ErrShutDown:
		return 0, false, nil
	default:
		return 0, false, err
	}
}

func (a adapted[T]) contextual() bool {
	_, contextual := a.Typed.(Contextual[T])
	return contextual
}

func (a adapted[T]) addUnequal(way int) {
	item := a.codec.unequal
	switch way {
	case 0:
		a.Typed.Add(item)
	case 1:
		a.Typed.AddAfter(item, time.Millisecond)
	default:
		a.Typed.AddRateLimited(item)
	}
}

func (a adapted[T]) observable() shardq.Inspector { return a.Typed.(shardq.Inspector) }

func (a adapted[T]) stats() (shardq.Stats, bool) {
	if counted, ok := a.Typed.(Counted); ok {
		return counted.Stats(), true
	}
	return shardq.Stats{}, false
}

// request describes the queue that a round needs, in terms of keys.
type request struct {
	shards       int
	items        Items
	clock        clock.Clock
	cancel       bool
	places       bool
	hash         func(key int) uint64 // nil: the queue's own
	onMisuse     func()
	limiter      *panicker     // nil: it never panics
	limiterCalls *limiterCalls // nil: the calls of the limiter are not counted
	counted      bool          // the limiter reports its number of items
	keep         func(any)     // called with the limiter, which is not part of the queue

	capacity    int
	high, low   int
	onWatermark func(high bool)
	ages        bool
	lowInterval int
	metrics     bool
	onStuck     func(stats.Item[int]) // nil: no hook
	group       func(key int) string  // nil: there are no groups
	groupLimit  int
	// prioritiesFirst is PrioritiesBeforeTurns.
	prioritiesFirst bool
	groupWeight     func(name string) int // nil: equal weights
	groupRate       func(name string) shardq.Rate
}

// open makes a queue for the request.
func (t Target) open(r request) queue {
	switch r.items {
	case intItems:
		return adapt(t.Ints, intCodec, r)
	case stringItems:
		return adapt(t.Strings, stringCodec, r)
	case pairItems:
		return adapt(t.Pairs, pairCodec, r)
	case anyItems:
		return adapt(t.Anys, anyCodec, r)
	default:
		panic(fmt.Sprintf("no such items: %d", r.items))
	}
}

func adapt[T comparable](open func(Settings[T]) Typed[T], c codec[T], r request) queue {
	s := Settings[T]{Shards: r.shards, Clock: r.clock, CancelDelayOnAdd: r.cancel, KeepPlaces: r.places, OnMisuse: r.onMisuse}
	s.Limiter = limits[T]{limiter.NewExponential[T](firstLimit, longestLimit), r.limiter, r.limiterCalls, c.decode, r.counted}
	r.keep(s.Limiter)
	if r.hash != nil {
		s.Hash = func(item T) uint64 { return r.hash(c.decode(item)) }
	}
	if r.group != nil {
		s.Group = func(item T) string { return r.group(c.decode(item)) }
		s.GroupRate = r.groupRate
		s.GroupLimit, s.GroupWeight, s.PrioritiesBeforeTurns = r.groupLimit, r.groupWeight, r.prioritiesFirst
	}
	s.Capacity, s.HighWatermark, s.LowWatermark, s.OnWatermark = r.capacity, r.high, r.low, r.onWatermark
	s.Ages, s.LowPriorityInterval, s.Metrics = r.ages, r.lowInterval, r.metrics
	if r.onStuck != nil {
		s.StuckAfter = stuckAfter
		s.OnStuck = func(row stats.Item[T]) { r.onStuck(infoOf(row, c.decode)) }
	}
	typed := open(s)
	controlled, _ := typed.(Controlled[T])
	return adapted[T]{typed, controlled, c}
}
