// Stress runs seeded random workloads against a queue, and checks the promises
// of the queue during and after each round. Run it with the race detector:
//
//	go run -race ./stress -duration 60s -seed 1
//
// The seed of a round determines its number of shards, producers, consumers,
// processors and keys. It also determines the mix of adds, delays, batches,
// claims, misuse, panics, cancellations and more, and the ending.
//
// If a promise is broken, stress names the clause of
// docs/reference/semantics.md, prints the history of the key and the command
// that repeats the round, and exits with 1. A data race that the detector
// reports counts as a broken promise. The exit status is 0 if nothing was
// broken, and 2 if the flags are invalid. Package harness has the details.
//
// With -target baseline, stress tests the heap design of bench/heapqueue. It
// leaves out rounds of small queues that are dropped without a ShutDown,
// because the goroutines of such queues stay. -ending small includes them.
//
// With -survey, stress continues after violations, and prints which clauses are
// broken. The exit status is 0 then, whatever it finds.
//
// The command go run -C bench/compare ./cmd/stress tests client-go and
// controller-runtime.
package main

import (
	_ "embed"

	"github.com/shardq/shardq/stress/harness"
)

//go:embed regressions.txt
var regressions string

func command() harness.Command {
	return harness.Command{
		Package:     "./stress",
		Targets:     []harness.Target{harness.Shardq(), baseline()},
		Regressions: regressions,
	}
}

func main() { command().Exit() }
