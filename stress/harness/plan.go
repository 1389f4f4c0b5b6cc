package harness

import (
	"fmt"
	"math/rand/v2"

	"github.com/shardq/shardq"
)

// A Choice is how producers choose among the keys.
type Choice int

const (
	// Uniform: all keys alike.
	Uniform Choice = iota
	// Zipf: some keys far more often than others.
	Zipf
	// Hot: nine adds of ten go to one key.
	Hot
	choices
)

func (c Choice) String() string { return [...]string{"uniform", "zipf", "hot"}[c] }

// An Ending is how a round ends.
type Ending int

const (
	// Drain: producers end, delays end, several drains wait.
	Drain Ending = iota
	// Storm: ShutDown and ShutDownWithDrain from many sides while producers go on.
	Storm
	// DrainThenShutDown: as Drain, and a ShutDown that comes meanwhile.
	DrainThenShutDown
	// Rest: the queue is brought to rest without a shutdown, and its memory looked
	// at; then it is shut down.
	Rest
	// Small: many small queues, made, used a little, and dropped. There is no
	// ledger.
	Small
	// DrainContext: drains with contexts, by a policy for what waits, while producers
	// go on. Some give up.
	DrainContext
	endingCount
)

func (e Ending) String() string {
	return [...]string{"drain", "storm", "drain-then-shutdown", "rest", "small", "drain-context"}[e]
}

// A Plan is all that determines a round, but for the scheduler.
type Plan struct {
	Seed       uint64
	Adds       int
	Shards     int
	Producers  int
	Consumers  int
	Processors int
	Keys       int
	Items      Items
	Choice     Choice
	Ending     Ending
	Mix        Ingredients
	// Cancel sets CancelDelayOnAdd.
	Cancel bool
	// Grouped routes keys by a hash of the plan's own, or by fair groups, so that FIFO
	// per shard, or group, can be seen from outside.
	Grouped bool
	// Ledger says whether a ledger is kept.
	Ledger bool
	// Capacity is 0 without the ingredient Room.
	Capacity int
	// Strict: nothing is added without asking for room, but what workers have in hand.
	Strict bool
	// Waiting is what the drains of a DrainContext do with what waits.
	Waiting shardq.WaitingPolicy
	// GivesUp: those drains have contexts that end.
	GivesUp bool
	// GroupLimit and Weighted are of fair groups: 0 and false without that ingredient.
	GroupLimit int
	Weighted   bool
}

// Limits narrow what Draw may choose.
type Limits struct {
	Adds   int
	Shards int         // 0: any
	Mix    Ingredients // what may be in the mix
	Ending Ending      // -1: any
	// Provoke leaves in the mix what the target is known not to survive.
	Provoke bool
}

// Draw makes the plan of a round from its seed. The same seed, limits and features
// give the same plan.
func Draw(seed uint64, limits Limits, features Features) Plan {
	r := rand.New(rand.NewPCG(seed, 0))
	pick := func(from ...int) int { return from[r.IntN(len(from))] }
	p := Plan{
		Seed:       seed,
		Adds:       limits.Adds,
		Shards:     pick(1, 2, 3, 16, 32, 64, 65, 100),
		Producers:  pick(1, 2, 8),
		Consumers:  pick(1, 2, 8, 32),
		Processors: [...]int{1, 2, 8}[seed%3],
		Keys:       pick(4, 16, 1000, 20_000),
		Items:      Items(r.IntN(int(itemTypes))),
		Choice:     Choice(r.IntN(int(choices))),
		Ending:     Ending(r.IntN(int(endingCount))),
		Mix:        Ingredients(r.Uint32()|r.Uint32()) & All, // three of four, on average
		Cancel:     r.IntN(4) == 0,
		Grouped:    r.IntN(3) == 0,
		Ledger:     r.IntN(2) == 0,
		Capacity:   pick(1, 4, 16, 64, 1000),
		Strict:     r.IntN(2) == 0,
		Waiting:    shardq.WaitingPolicy(r.IntN(3)),
		GivesUp:    r.IntN(2) == 0,
	}
	if r.IntN(3) > 0 {
		p.Mix &^= Workers // which takes the place of other ways to consume
	}
	p.GroupLimit, p.Weighted = pick(0, 1, 2, 5), r.IntN(2) == 0
	if r.IntN(2) > 0 {
		p.Mix &^= Groups // without which a queue goes other ways
	}
	if !p.Ledger && p.Ending != Small {
		p.Adds *= 4 // they are cheap
	}
	if p.Keys == 20_000 {
		p.Keys = max(16, min(p.Keys, limits.Adds/2))
	}
	return p.within(limits, features)
}

// within takes out of the plan what is not allowed or not to be had.
func (p Plan) within(limits Limits, features Features) Plan {
	p.Mix &= limits.Mix
	if limits.Shards > 0 {
		p.Shards = limits.Shards
	}
	switch {
	case limits.Ending >= 0:
		p.Ending = limits.Ending
	case p.Ending == Small && !features.Collected:
		p.Ending = Drain
	}
	if !features.Shards {
		p.Shards = 1
	}
	if !features.Options {
		p.Cancel, p.Grouped = false, false
	}
	if !features.Clock {
		p.Mix &^= Steps
	}
	if !features.CallersLimiter && !limits.Provoke {
		p.Mix &^= Panics
	}
	if p.Mix.Has(NaN) && p.Items != anyItems {
		p.Items = pairItems
	}
	if p.Ending == Small {
		p.Ledger = false
		p.Mix &^= Steps   // one clock would tie all the queues together
		p.Mix &^= Metrics // which take memory, and nobody looks
	}
	return p.controlled(features)
}

// controlled takes out of the plan what the target has no operations for.
func (p Plan) controlled(features Features) Plan {
	if !features.Control {
		p.Mix &^= control
		if p.Ending == DrainContext {
			p.Ending = Drain
		}
	}
	if !features.Workers || p.Ending == Small {
		p.Mix &^= Workers
	}
	if p.Mix.Has(Workers) {
		p.Mix &^= unfitForWorkers
	}
	if !p.Mix.Has(Room) {
		p.Capacity, p.Strict = 0, false
	}
	if p.Mix.Has(Groups) {
		p.Grouped = true
	} else {
		p.GroupLimit, p.Weighted = 0, false
	}
	if p.Ending != DrainContext {
		p.Waiting, p.GivesUp = shardq.DropWaiting, false
	}
	return p
}

func (p Plan) String() string {
	return fmt.Sprintf("seed=%d ending=%v shards=%d producers=%d consumers=%d processors=%d "+
		"keys=%d items=%v choice=%v mix=%v cancel=%t grouped=%t ledger=%t capacity=%d strict=%t waiting=%d gives-up=%t "+
		"group-limit=%d weighted=%t",
		p.Seed, p.Ending, p.Shards, p.Producers, p.Consumers, p.Processors,
		p.Keys, p.Items, p.Choice, p.Mix, p.Cancel, p.Grouped, p.Ledger,
		p.Capacity, p.Strict, p.Waiting, p.GivesUp, p.GroupLimit, p.Weighted)
}

// ParseEnding reads the name of an ending; "any" is -1.
func ParseEnding(name string) (Ending, error) {
	if name == "any" {
		return -1, nil
	}
	for e := range endingCount {
		if name == e.String() {
			return e, nil
		}
	}
	return 0, fmt.Errorf("no ending is called %q: want any, drain, storm, drain-then-shutdown, rest, small or drain-context", name)
}
