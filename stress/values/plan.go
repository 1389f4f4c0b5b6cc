// Package values plays rounds against a Coalescer. It checks that no value is
// lost, doubled or merged twice, that no two workers have the same key, and that
// the values of a key are taken in the order of each producer. In every other
// round a worker.Pool takes the values, and its handlers fail, panic and exit.
package values

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/limiter"
)

// A Plan is all of a round except the scheduler. It follows from the seed.
type Plan struct {
	Seed                                    uint64
	shards, keys, producers, puts, workers  int
	batch, capacity, maxAttempts            int
	closeAfter                              int64 // the put at which the end begins
	bounded                                 bool  // all puts honor the capacity
	weighed, retries, backoff, pool         bool
	delays, cancels, pauses, drains, panics bool
	drain                                   shardq.DrainOptions
	linger                                  time.Duration
}

func Draw(seed uint64) Plan {
	dice := rand.New(rand.NewPCG(seed, 0))
	even := func() bool { return dice.IntN(2) == 0 }
	p := Plan{
		Seed: seed, shards: 1 << dice.IntN(4), keys: 1 << dice.IntN(7), producers: 1 + dice.IntN(6),
		puts: 1 + dice.IntN(600), workers: 1 + dice.IntN(4), batch: 1 + dice.IntN(8), maxAttempts: dice.IntN(4),
		weighed: even(), retries: even(), backoff: even(), pool: even(), delays: even(), cancels: even(),
		pauses: dice.IntN(3) == 0, drains: dice.IntN(4) > 0, panics: even(),
		drain:  shardq.DrainOptions{Delayed: shardq.DelayedPolicy(dice.IntN(3))},
		linger: time.Duration(max(dice.IntN(6)-3, 0)) * time.Millisecond,
	}
	if even() {
		p.capacity, p.bounded = 1+dice.IntN(20), even() && !p.pool // a pool that stops releases values
		p.retries = p.retries && !p.bounded                        // what goes back needs no room
	}
	p.closeAfter = 1 + dice.Int64N(int64(2*p.producers*p.puts))
	return p
}

func (p Plan) String() string {
	type plain Plan // without this method
	return fmt.Sprintf("values %+v", plain(p))
}

func (p Plan) options(merge func(pending, next value) value) coalesce.Options[int, value] {
	o := coalesce.Options[int, value]{
		Queue: shardq.Options[int]{
			Shards: p.shards, RateLimiter: limiter.NewExponential[int](time.Millisecond, 4*time.Millisecond),
		},
		Merge: merge, Capacity: p.capacity, PutEndsBackoff: p.backoff, Linger: p.linger,
	}
	if p.linger > 0 {
		o.LingerValues = 10
	}
	if p.weighed {
		o.Weight = func(v value) int { return len(v) }
	}
	return o
}
