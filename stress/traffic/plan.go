// Package traffic plays rounds of mixed traffic against a queue, and checks its
// promises. A plan is drawn from the seed (plan.go). Actors play it: producers,
// consumers or a pool of workers, a gatekeeper that pauses and changes rates,
// and an observer (the files of these names). After each wave the queue comes
// to rest (rest.go). The last wave ends in one of several ways (ending.go).
package traffic

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stress/ledger"
)

// Features are what a round may have, a bit for each.
type Features uint32

const (
	delays Features = 1 << iota
	policies
	priorities
	windows
	groups
	limits
	rates
	pauses
	capacity
	retries
	claims
	batches
	items
	pools
	cancels
	listings
	misuse
	panics
	fakeClock
	blind
	All Features = 1<<iota - 1
)

var names = []string{
	"delays", "policies", "priorities", "windows", "groups", "limits", "rates", "pauses", "capacity",
	"retries", "claims", "batches", "items", "pools", "cancels", "listings", "misuse", "panics", "fake", "blind",
}

func Names() string { return All.String() }

// Parse returns the features of a list of names. An empty list has all.
func Parse(list string) (f Features, err error) {
	if list == "" {
		return All, nil
	}
	for name := range strings.SplitSeq(list, ",") {
		i := slices.Index(names, name)
		if i < 0 {
			return 0, fmt.Errorf("unknown feature %q", name)
		}
		f |= 1 << i
	}
	return f, nil
}

func (f Features) String() string {
	var list []string
	for i, name := range names {
		if f&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return strings.Join(list, ",")
}

type ending int

const (
	atRest       ending = iota // a ShutDown of a queue that holds nothing
	withDrain                  // ShutDownWithDrain, several times, without producers
	storm                      // ShutDown and ShutDownWithDrain, beside producers
	drained                    // Drain, several times, beside producers
	drainedEarly               // drains that end early, and a ShutDown
	endings
)

// A Plan is all of a round except the scheduler. It follows from the seed.
type Plan struct {
	Seed     uint64
	features Features

	waves, adds, shards, producers, consumers, keys int
	groups, priorities, interval, capacity          int  // 0, 1, 0 and 0 if there are none
	strict                                          bool // all adds honor the capacity
	hashed                                          bool // keys are routed by their lines
	limiter                                         int
	tick                                            time.Duration
	ending                                          ending
	drain                                           shardq.DrainOptions
}

const lines = 8

// Draw makes the plan of a seed, with some of the allowed features.
func Draw(seed uint64, allowed Features) Plan {
	dice := rand.New(rand.NewPCG(seed, 0))
	pick := func(from ...int) int { return from[dice.IntN(len(from))] }
	p := Plan{
		Seed: seed,
		// Most features are on as a rule.
		features: Features(dice.Uint32()|dice.Uint32()) & allowed &^ (pools | blind | fakeClock),
		waves:    2 + dice.IntN(3), adds: pick(50, 300, 1000),
		shards: pick(1, 1, 2, 7, 32, 100), producers: pick(1, 2, 6), consumers: pick(1, 2, 5, 12),
		keys:       pick(16, 64, 400, 3000),
		priorities: 1, limiter: dice.IntN(3),
		tick: []time.Duration{time.Millisecond, time.Millisecond / 5}[dice.IntN(2)],
	}
	for _, rare := range []Features{pools, blind, fakeClock} {
		if dice.IntN(3) == 0 {
			p.features |= rare & allowed
		}
	}
	p.drawShape(dice)
	p.ending = ending(dice.IntN(int(endings)))
	p.drain = shardq.DrainOptions{Delayed: shardq.DelayedPolicy(dice.IntN(3)), Retries: shardq.RetryPolicy(dice.IntN(3))}
	if p.ending < drained {
		p.drain = shardq.DrainOptions{}
	}
	return p
}

func (p *Plan) drawShape(dice *rand.Rand) {
	if p.hashed = dice.IntN(3) == 0; p.has(groups) && dice.IntN(2) == 0 {
		p.groups, p.hashed = 1+dice.IntN(lines), false
	} else {
		p.features &^= groups | limits
	}
	if p.has(priorities) {
		p.priorities = 2 + dice.IntN(3)
		p.interval = dice.IntN(2) * (2 + dice.IntN(6))
	}
	if p.has(capacity) {
		p.capacity, p.strict = 1+dice.IntN(p.keys), dice.IntN(2) == 0
	}
}

func (p *Plan) has(f Features) bool { return p.features&f != 0 }

func (p *Plan) dropsDelayed() bool {
	return p.ending == withDrain || p.ending == storm || p.ending == drainedEarly &&
		(p.drain.Delayed == shardq.AwaitDelayed || p.drain.Retries == shardq.AcceptRetries)
}

func (p *Plan) groupOf(key int) int {
	if p.groups == 0 {
		return ledger.Whole
	}
	return 1 + max(key, 0)/4%p.groups
}

// priorityOf returns the priority of a key that is added with only one.
func (p *Plan) priorityOf(key int) int { return key / 4 / lines % p.priorities }

// lineOf returns the line of a key: its shard, as far as that is known, or its
// group, and its priority.
func (p *Plan) lineOf(key int) int {
	line := 0
	if p.hashed {
		line = key / 4 % lines
	} else if p.groups > 0 {
		line = p.groupOf(key) - 1
	}
	return line*p.priorities + p.priorityOf(key)
}

func (p *Plan) weightOf(group int) int { return 1 + (group+int(p.Seed%4))%4 }

func (p *Plan) limitOf(group int) int {
	if !p.has(limits) {
		return 0
	}
	return (group + int(p.Seed%3)) % 4
}

func (p *Plan) newOrder() *ledger.Order {
	if p.has(pools) || p.shards > 1 && p.groups == 0 && !p.hashed {
		return nil
	}
	return &ledger.Order{
		LineOf: p.lineOf, Priorities: p.priorities, Strict: p.interval == 0, Lines: make([]ledger.Line, lines*p.priorities),
	}
}

func (p Plan) String() string {
	type plain Plan // without this method
	return fmt.Sprintf("%+v", plain(p))
}
