package harness

import (
	"fmt"
	"math/rand/v2"

	"github.com/shardq/shardq"
)

// A Choice is the distribution by which producers choose keys.
type Choice int

const (
	// Uniform chooses all keys equally often.
	Uniform Choice = iota
	// Zipf chooses some keys far more often than others.
	Zipf
	// Hot chooses one key for nine adds of ten.
	Hot
	choices
)

func (c Choice) String() string { return [...]string{"uniform", "zipf", "hot"}[c] }

// An Ending is how a round ends.
type Ending int

const (
	// Drain waits for producers and delays to end, and calls several drains.
	Drain Ending = iota
	// Storm calls ShutDown and ShutDownWithDrain in many goroutines while
	// producers go on.
	Storm
	// DrainThenShutDown is Drain with a ShutDown during the drains.
	DrainThenShutDown
	// Rest brings the queue to rest without a shutdown, checks its memory, and
	// then shuts it down.
	Rest
	// Small makes many small queues, uses each a little, and drops it. There is
	// no ledger.
	Small
	// DrainContext calls drains with contexts, and a policy for delayed items,
	// while producers go on. Some drains end early.
	DrainContext
	endingCount
)

func (e Ending) String() string {
	return [...]string{"drain", "storm", "drain-then-shutdown", "rest", "small", "drain-context"}[e]
}

// A Plan determines everything in a round except the scheduler.
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
	// Cancel sets CancelDelayOnAdd, and Places sets KeepPlaces.
	Cancel, Places bool
	// Grouped routes keys by the plan's own hash function, or by groups, so
	// that the order within a shard or group is visible.
	Grouped bool
	// Ledger reports whether there is a ledger.
	Ledger bool
	// Capacity is 0 without the ingredient Capacity.
	Capacity int
	// Strict reports whether all adds honor the capacity, except those of a key
	// that a worker holds.
	Strict bool
	// Delayed is the policy of the drains of a DrainContext.
	Delayed shardq.DelayedPolicy
	// EndsEarly reports whether these drains have contexts that end.
	EndsEarly bool
	// GroupLimit, Weighted and PrioritiesFirst, which sets
	// PrioritiesBeforeTurns, are 0 and false without the ingredient Groups.
	GroupLimit                int
	Weighted, PrioritiesFirst bool
}

// Limits restrict the choices of Draw.
type Limits struct {
	Adds   int
	Shards int         // 0: any
	Mix    Ingredients // the allowed ingredients
	Ending Ending      // -1: any
	// Provoke allows ingredients that the target is known not to survive.
	Provoke bool
}

// Draw makes the plan of a round from its seed. The same seed, limits and
// features give the same plan.
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
		Mix:        Ingredients(r.Uint32()|r.Uint32()) & All, // three of four on average
		Cancel:     r.IntN(4) == 0,
		Grouped:    r.IntN(3) == 0,
		Ledger:     r.IntN(2) == 0,
		Capacity:   pick(1, 4, 16, 64, 1000),
		Strict:     r.IntN(2) == 0,
		Delayed:    shardq.DelayedPolicy(r.IntN(3)),
		EndsEarly:  r.IntN(2) == 0,
	}
	if r.IntN(3) > 0 {
		p.Mix &^= Workers // which replaces other ways to consume
	}
	p.GroupLimit, p.Weighted = pick(0, 1, 2, 5), r.IntN(2) == 0
	if r.IntN(2) > 0 {
		p.Mix &^= Groups // otherwise a queue takes other paths
	}
	if !p.Ledger && p.Ending != Small {
		p.Adds *= 4 // Gets are cheap
	}
	p.Places, p.PrioritiesFirst = r.IntN(3) == 0, r.IntN(2) == 0
	if r.IntN(2) > 0 {
		p.Mix &^= Pauses // which take time
	}
	if r.IntN(2) > 0 {
		p.Mix &^= Windows // otherwise adds have another path
	}
	if p.Keys == 20_000 {
		p.Keys = max(16, min(p.Keys, limits.Adds/2))
	}
	return p.within(limits, features)
}

// within removes ingredients that are not allowed or not available.
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
		p.Cancel, p.Places, p.Grouped = false, false, false
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
		p.Mix &^= Steps   // one clock would connect all queues
		p.Mix &^= Metrics // which take memory, and are not read
		p.Mix &^= Pauses | Windows
	}
	return p.controlled(features)
}

// controlled removes the ingredients for which the target has no operations.
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
	if !p.Mix.Has(Capacity) {
		p.Capacity, p.Strict = 0, false
	}
	if p.Mix.Has(Groups) {
		p.Grouped = true
	} else {
		p.GroupLimit, p.Weighted, p.PrioritiesFirst = 0, false, false
	}
	if p.Ending != DrainContext {
		p.Delayed, p.EndsEarly = shardq.DropDelayed, false
	}
	return p
}

func (p Plan) String() string {
	return fmt.Sprintf("seed=%d ending=%v shards=%d producers=%d consumers=%d processors=%d "+
		"keys=%d items=%v choice=%v mix=%v cancel=%t places=%t grouped=%t ledger=%t capacity=%d strict=%t delayed=%d ends-early=%t "+
		"group-limit=%d weighted=%t priorities-first=%t",
		p.Seed, p.Ending, p.Shards, p.Producers, p.Consumers, p.Processors,
		p.Keys, p.Items, p.Choice, p.Mix, p.Cancel, p.Places, p.Grouped, p.Ledger,
		p.Capacity, p.Strict, p.Delayed, p.EndsEarly, p.GroupLimit, p.Weighted, p.PrioritiesFirst)
}

// ParseEnding returns the ending of a name. "any" is -1.
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
