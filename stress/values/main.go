// Values runs seeded random rounds against a Coalescer. It checks that no value
// is lost or taken twice, that no two workers have the same key, and that the
// values of a key are taken in the order of each producer. Rounds have retries,
// panics of Merge, capacities and shutdowns. In every other round a worker.Pool
// takes the values, and its handlers and hooks fail, panic and exit.
//
//	go run -race ./stress/values -duration 60s -seed 1
//
// If a round fails, values prints its seed. Repeat it with -seed and -rounds 1.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	seed := flag.Uint64("seed", 1, "the `seed` of the first round; each round adds one")
	duration := flag.Duration("duration", 10*time.Second, "the time during which new rounds start")
	rounds := flag.Uint64("rounds", 1<<62, "the maximum number of rounds")
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
	fmt.Printf("%d rounds, %d puts accepted, %d refused, %d takes, %d returned, %d panics, %d dropped by drains, %d discarded, %d ends of Run by a panic: no violation\n",
		played, sum.accepted, sum.refused, sum.takes, sum.returned, sum.panics, sum.dropped, sum.discarded, sum.faults)
}
