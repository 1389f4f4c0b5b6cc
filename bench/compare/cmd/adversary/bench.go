package main

import (
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/shardq/shardq/bench/compare/internal/document"
	"github.com/shardq/shardq/bench/workload"
)

// bench has the parameters of a run of the command.
type bench struct {
	// scale is the share of the full number of items, 1 for all of them.
	scale float64
	// rounds is how often each case is tried, or 0 for the default of the case.
	rounds   int
	limit    time.Duration
	progress io.Writer
}

func (b *bench) validate() error {
	switch {
	case !(b.scale > 0 && b.scale <= 1): // nor NaN
		return fmt.Errorf("-scale is %g: want more than 0, and at most 1", b.scale)
	case b.rounds < 0:
		return fmt.Errorf("-rounds is %d: want at least 1", b.rounds)
	case b.limit <= 0:
		return fmt.Errorf("-limit is %v: want more than 0", b.limit)
	}
	return nil
}

// count returns the scaled number of items.
func (b *bench) count(full int) int { return max(1, int(float64(full)*b.scale)) }

// countAtLeast is count with a least number of items that the case needs.
func (b *bench) countAtLeast(least, full int) int { return max(least, b.count(full)) }

const (
	// leastMany is the number of queues or goroutines from which the rest of
	// the process no longer affects their measurement.
	leastMany = 100
	// leastBurst is the least number of items for a burst in each of 32 shards:
	// C8 says what remains of a burst, not of a few items.
	leastBurst = 64 * 32
)

func (b *bench) roundsOf(c hostile) int {
	switch {
	case b.rounds > 0:
		return b.rounds
	case c.seldom:
		return 2
	default:
		return 3
	}
}

// try tries each case on each target, one after the other in one process.
func (b *bench) try(cases []hostile, targets []target) *results {
	r := &results{bench: b, Machine: document.DescribeMachine(command())}
	for _, c := range cases {
		start := time.Now()
		r.Outcomes = append(r.Outcomes, b.inRounds(c, targets))
		b.say("%s took %v\n", c.name, time.Since(start).Round(time.Second))
	}
	return r
}

// command returns the command that gives the same figures. It leaves out where
// they are written to.
func command() string {
	text := "go run -C bench/compare ./cmd/adversary"
	for _, name := range []string{"only", "targets", "scale", "rounds", "limit"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != f.DefValue {
			text += " -" + name + " " + f.Value.String()
		}
	}
	return text
}

// inRounds tries a case on each target once in each round. Each round begins
// with another target. A slow target has only one round.
func (b *bench) inRounds(c hostile, targets []target) *outcome {
	o := newOutcome(c, targets)
	for round := range b.roundsOf(c) {
		o.Rounds++
		for i := range targets {
			t := targets[(i+round)%len(targets)]
			if round > 0 && t.slow {
				continue
			}
			workload.Collect()
			start := time.Now()
			o.add(t, c.try(b, t))
			b.say("%s, round %d, %s: %v\n", c.name, round+1, t.name, time.Since(start).Round(time.Millisecond))
		}
	}
	return o
}

func (b *bench) say(format string, arguments ...any) {
	fmt.Fprintf(b.progress, "adversary: "+format, arguments...)
}
