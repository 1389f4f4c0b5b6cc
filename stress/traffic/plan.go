// Package traffic plays rounds of mixed traffic against a queue, and checks its
// promises. A plan is drawn from the seed (plan.go). Actors play it: producers,
// consumers or a pool of workers, and a keeper that pauses, resumes and reads
// (the files of these names). After each wave the queue comes to rest
// (rest.go). The last wave ends in one of several ways (ending.go).
package traffic

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/stress/ledger"
)

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
	Seed uint64

	waves, adds, shards, producers, consumers, keys int
	priorities, interval, capacity                  int   // 1, 0 and 0 if there are none
	limits                                          []int // of groups, if there are any
	strict                                          bool  // all adds honor the capacity
	delays, retries, claims, batches, cancels       bool
	pauses, pool, blind                             bool
	tick                                            time.Duration
	ending                                          ending
	drain                                           shardq.DrainOptions
}

// Draw makes the plan of a seed.
func Draw(seed uint64) Plan {
	dice := rand.New(rand.NewPCG(seed, 0))
	pick := func(from ...int) int { return from[dice.IntN(len(from))] }
	often := func() bool { return dice.IntN(4) > 0 }
	p := Plan{
		Seed:  seed,
		waves: 2 + dice.IntN(3), adds: pick(50, 300, 1000),
		shards: pick(1, 1, 2, 7, 32, 100), producers: pick(1, 2, 6), consumers: pick(1, 2, 5, 12),
		keys: pick(16, 64, 400, 3000), priorities: pick(1, 2, 4), interval: pick(0, 0, 2, 5),
		delays: often(), retries: often(), claims: often(), batches: often(), cancels: often(), pauses: often(),
		pool: dice.IntN(3) == 0, blind: seed%3 == 0,
		tick:   time.Duration(pick(200, 1000)) * time.Microsecond,
		ending: ending(dice.IntN(int(endings))),
	}
	if dice.IntN(2) == 0 {
		for range 1 + dice.IntN(8) {
			p.limits = append(p.limits, dice.IntN(4))
		}
	}
	if dice.IntN(2) == 0 {
		p.capacity, p.strict = 1+dice.IntN(p.keys), dice.IntN(2) == 0
	}
	if p.ending >= drained {
		p.drain = shardq.DrainOptions{Delayed: shardq.DelayedPolicy(dice.IntN(3)), Retries: shardq.RetryPolicy(dice.IntN(3))}
	}
	return p
}

func (p *Plan) dropsDelayed() bool {
	return p.ending == withDrain || p.ending == storm || p.ending == drainedEarly &&
		(p.drain.Delayed == shardq.AwaitDelayed || p.drain.Retries == shardq.AcceptRetries)
}

func (p Plan) String() string {
	type plain Plan // without this method
	return fmt.Sprintf("traffic %+v", plain(p))
}

const (
	backoff     = time.Millisecond
	backoffMost = 4 * time.Millisecond
)

func leastBackoff(failures int32) time.Duration { return min(backoff<<min(failures, 8), backoffMost) }

// options returns the options of the queue. The ledger knows the groups.
func (p *Plan) options(books *ledger.Ledger) shardq.Options[int] {
	o := shardq.Options[int]{
		Name: "stress", Shards: p.shards, Tick: p.tick, Capacity: p.capacity, LowPriorityInterval: p.interval,
		RateLimiter: limiter.NewExponential[int](backoff, backoffMost),
		Ages:        p.Seed%3 == 0, Metrics: p.Seed%4 == 0, StableRouting: p.Seed%2 == 0 && len(p.limits) == 0,
		OnMisuse: func(m shardq.Misuse[int]) {
			books.Found.Add("exclusion: key %d was taken from its consumer before its Done", m.Item)
		},
	}
	if len(p.limits) > 0 {
		o.Group = func(key int) string { return groupName(books.GroupOf(key)) }
		o.GroupPolicy = func(name string) shardq.GroupPolicy {
			group := int(name[0] - '0')
			return shardq.GroupPolicy{Weight: 1 + group%4, Limit: p.limits[group]}
		}
	}
	return o
}

func groupName(group int) string { return "01234567"[group : group+1] }
