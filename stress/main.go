// Stress hammers a queue with seeded workloads and checks its promises while it
// runs. It is meant for the race detector:
//
//	go run -race ./stress -duration 60s -seed 1
//
// It runs round after round, each with a number of shards, producers, consumers,
// processors and keys of its own, all drawn from the seed; every round ends with a
// drain and an account. On a violation it names the clause of docs/semantics.md, says
// how to run that round again, and exits with 1.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	duration := flag.Duration("duration", 10*time.Second, "how long to go on starting rounds")
	seed := flag.Uint64("seed", 1, "seed of the first round; each round adds one")
	adds := flag.Int("adds", 50_000, "adds in a round")
	rounds := flag.Int("rounds", 0, "stop after so many rounds (0: only after the duration)")
	flag.Parse()
	if flag.NArg() > 0 || *adds < 1 || *rounds < 0 || *duration <= 0 {
		fmt.Fprintln(os.Stderr, "stress: want -duration above 0, -adds of at least 1, -rounds of at least 0, and no arguments")
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*duration, *seed, *adds, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run goes from round to round until the time is over.
func run(duration time.Duration, seed uint64, adds, rounds int) error {
	var total account
	start := time.Now()
	for n := 0; time.Since(start) < duration && (rounds == 0 || n < rounds); n++ {
		workload := draw(seed+uint64(n), adds)
		result, err := workload.run()
		if err != nil {
			return fmt.Errorf("%w\nround %v\nagain: go run -race ./stress -seed %d -adds %d -rounds 1",
				err, workload, workload.seed, adds)
		}
		total.add(result)
		fmt.Printf("round %d: %v: %v\n", n+1, workload, result)
	}
	fmt.Printf("ok: %d rounds, %v, %.0f runs/s\n", total.rounds, total, float64(total.runs)/time.Since(start).Seconds())
	return nil
}
