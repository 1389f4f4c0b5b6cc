// Stress hammers a queue with seeded workloads and checks its promises while it runs
// and afterwards. It is meant for the race detector:
//
//	go run -race ./stress -duration 60s -seed 1
//
// It runs round after round, each with a number of shards, producers, consumers,
// processors and keys of its own, a mix of adds, delays, batches, claims, misuse,
// panics, cancellations and more, and an ending, all drawn from the seed. On a
// violation it names the clause of docs/reference/semantics.md, shows what was done to the key,
// says how to run that round again, and exits with 1. A data race that the detector
// reports is a violation, too. The exit status is 0 if nothing was broken, and 2 if the flags make no sense.
// Package harness has the details.
//
// With -target baseline it does the same to the heap design of bench/heapqueue, but for
// rounds of small queues that are dropped without a ShutDown: those it leaves out unless
// -ending small asks for them, for the goroutines of such queues always stay. With
// -survey it goes on after violations and prints which clauses are broken; then the exit
// status is 0, whatever was found. For
// client-go and controller-runtime, there is go run -C bench/compare ./cmd/stress.
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
