// Package values plays rounds against a Coalescer. It checks that no value is
// lost, doubled or merged twice, that no two workers have the same key, and that
// the values of a key are taken in the order of each producer. Rounds have
// delays, lingers, retries, cancels, panics of Merge, capacities, pauses and
// drains. In every other round a worker.Pool takes the values, and its handlers
// and hooks fail, panic and exit.
package values

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/limiter"
)

// A stamp identifies a value: the n-th of its producer.
type stamp struct{ producer, n int }

// A value has all stamps that were merged into it, in order.
type value = []stamp

// A pair is a key with its value.
type pair = coalesce.Entry[int, value]

// A Plan is all of a round except the scheduler. It follows from the seed.
type Plan struct {
	Seed                     uint64
	shards, keys             int
	producers, puts, workers int
	batch                    int
	capacity                 int
	weighed                  bool
	bounded                  bool // all puts honor the capacity
	panics                   uint64
	retries                  bool
	closeAfter               int64 // in puts; negative: only at the end
	ending                   int   // ShutDown, or Drain with a policy
	run                      bool  // a worker.Pool takes the values, not a loop
	maxAttempts              int
	putEndsBackoff           bool
	linger                   time.Duration
	delays, cancels, pauses  bool
}

// Draw makes the plan of a seed.
func Draw(seed uint64) Plan {
	dice := rand.New(rand.NewPCG(seed, 0))
	p := Plan{
		Seed:      seed,
		shards:    1 << dice.IntN(4),
		keys:      1 << dice.IntN(7),
		producers: 1 + dice.IntN(6),
		puts:      1 + dice.IntN(600),
		workers:   1 + dice.IntN(4),
		batch:     1 + dice.IntN(8),
		weighed:   dice.IntN(2) == 0,
		retries:   dice.IntN(2) == 0,
		ending:    dice.IntN(4),
	}
	if dice.IntN(2) == 0 {
		p.capacity = 1 + dice.IntN(20)
		p.bounded = dice.IntN(2) == 0
	}
	p.retries = p.retries && !p.bounded
	if dice.IntN(2) == 0 {
		p.panics = 2 + dice.Uint64N(60)
	}
	p.closeAfter = int64(p.producers*p.puts) + 1
	if dice.IntN(2) == 0 {
		p.closeAfter = dice.Int64N(p.closeAfter)
	}
	if p.run = dice.IntN(2) == 0; p.run {
		p.maxAttempts = dice.IntN(4)
	}
	p.putEndsBackoff = dice.IntN(2) == 0
	p.linger = time.Duration(max(dice.IntN(6)-3, 0)) * time.Millisecond
	p.delays, p.cancels, p.pauses = dice.IntN(2) == 0, dice.IntN(2) == 0, dice.IntN(3) == 0
	return p
}

// String describes the plan.
func (p Plan) String() string {
	type plain Plan // without this method
	return fmt.Sprintf("values %+v", plain(p))
}

// options returns the options of the coalescer, with the round's merge.
func (p Plan) options(merge func(pending, next value) value) coalesce.Options[int, value] {
	o := coalesce.Options[int, value]{
		Queue: shardq.Options[int]{
			Shards:      p.shards,
			RateLimiter: limiter.NewExponential[int](time.Millisecond, 4*time.Millisecond),
		},
		Merge:    merge,
		Capacity: p.capacity,

		PutEndsBackoff: p.putEndsBackoff,
		Linger:         p.linger,
	}
	if p.linger > 0 {
		o.LingerValues = 10
	}
	if p.weighed {
		o.Weight = func(v value) int { return len(v) }
	}
	return o
}
