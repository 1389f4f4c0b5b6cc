// Stress plays rounds of mixed traffic against queues and coalescers, and checks
// their promises. Run it with the race detector:
//
//	go run -C stress -race . -duration 60s -seed 1
//
// A round follows from its seed, as far as goroutines allow. If a promise is
// broken, stress prints what it has found and the command that repeats the
// round, and exits with 1. The last line counts the rounds, the adds and the
// hand-outs.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/shardq/shardq/stress/report"
	"github.com/shardq/shardq/stress/traffic"
	"github.com/shardq/shardq/stress/values"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

type settings struct {
	duration, patience time.Duration
	seed, rounds       uint64
	only               string
}

func (s *settings) parse(arguments []string, errs io.Writer) error {
	flags := flag.NewFlagSet("stress", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.DurationVar(&s.duration, "duration", 10*time.Second, "the time during which new rounds begin")
	flags.Uint64Var(&s.seed, "seed", 1, "the `seed` of the first round; each round adds one")
	flags.Uint64Var(&s.rounds, "rounds", 1<<62, "the greatest number of rounds")
	flags.StringVar(&s.only, "only", "", "traffic for rounds of queues alone, values for those of coalescers")
	flags.DurationVar(&s.patience, "patience", 30*time.Second, "the time without any progress that counts as a hang")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() > 0 || !slices.Contains([]string{"", "traffic", "values"}, s.only) {
		fmt.Fprintf(errs, "stress: unexpected arguments %q, or -only %q\n", flags.Args(), s.only)
		return errors.New("the flags are invalid")
	}
	return nil
}

func run(arguments []string, out, errs io.Writer) int {
	var s settings
	if err := s.parse(arguments, errs); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	var total report.Counts
	begun := time.Now()
	for seed := s.seed; seed-s.seed < s.rounds && (seed == s.seed || time.Since(begun) < s.duration); seed++ {
		counts, round, err := s.play(seed)
		total.Plus(counts)
		if err != nil {
			fmt.Fprintf(errs, "seed %d: %v\nround: %v\nagain: go run -C stress -race . -rounds 1 -seed %[1]d -only %[4]q\n",
				seed, err, round, s.only)
			return 1
		}
	}
	fmt.Fprintf(out, "ok: seeds from %d: %v\n", s.seed, total)
	return 0
}

// play plays the round of a seed. Every fourth is one of a coalescer.
func (s *settings) play(seed uint64) (report.Counts, fmt.Stringer, error) {
	if s.only == "values" || s.only == "" && seed%4 == 0 {
		plan := values.Draw(seed)
		counts, err := values.Play(plan, s.patience)
		return counts, plan, err
	}
	plan := traffic.Draw(seed)
	counts, err := traffic.Play(plan, s.patience)
	return counts, plan, err
}
