// Values plays seeded random rounds against a Coalescer, and checks that nothing is lost,
// nothing comes twice, no two workers have one key, and the values of a key come in their
// order, per producer: whatever retries, panics of Merge, capacities and shutdowns there are.
// In every other round Workers take the values, whose handlers and hooks fail, panic and exit.
//
//	go run -race ./stress/values -duration 60s -seed 1
//
// A failure prints the seed of its round, to be repeated with -seed and -rounds 1.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	seed := flag.Uint64("seed", 1, "the `seed` of the first round; the next has the next")
	duration := flag.Duration("duration", 10*time.Second, "how long to begin rounds")
	rounds := flag.Uint64("rounds", 1<<62, "how many rounds at most")
	flag.Parse()
	begin, played := time.Now(), uint64(0)
	var sum tally
	for ; played < *rounds && time.Since(begin) < *duration; played++ {
		one, err := play(*seed+played, newCoalescer)
		if err != nil {
			fmt.Fprintf(os.Stderr, "seed %d: %v\n", *seed+played, err)
			os.Exit(1)
		}
		sum.add(one)
	}
	fmt.Printf("%d rounds, %d puts taken in, %d refused, %d takes, %d given back, %d panics, %d dropped by drains, %d given up, %d ends of Run by a panic: no violation\n",
		played, sum.accepted, sum.refused, sum.takes, sum.returned, sum.panics, sum.dropped, sum.givenUp, sum.faults)
}
