// Command cores measures how long operations hold the lock of a shard, on one core,
// and simulates the same on many: goroutines wait for each other, and the cache lines
// of a shard go from core to core. It omits what cores share beside the shards, and
// the bandwidth of the memory. In the last column no goroutine waits, and no cache
// line moves.
//
//	go run ./bench/cores
package main

import (
	"flag"
	"fmt"
	"hash/maphash"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/workload"
	"github.com/shardq/shardq/shard"
)

func main() {
	keys := flag.Int("keys", 1_000_000, "ready or delayed `keys`, which are in no cache")
	rounds := flag.Int("rounds", 5, "how often to measure everything")
	m := machine{}
	flag.Float64Var(&m.move, "move", 150, "`ns` for the lines of a shard that another core has used last")
	flag.Float64Var(&m.spin, "spin", 2_000, "`ns` before a waiter parks")
	flag.Float64Var(&m.wake, "wake", 50_000, "`ns` from an unlock until a parked waiter runs")
	flag.Parse()
	if *keys < 1 || *rounds < 1 {
		fmt.Fprintln(os.Stderr, "cores: -keys and -rounds must be at least 1")
		os.Exit(2)
	}
	for _, op := range measure(*keys, *rounds) {
		fmt.Printf("\n%s: %.0f ns, and %d × %.0f ns under the lock; millions a second:\n\n", op.name, op.work, op.holds, op.hold)
		write(m, op)
	}
}

// measure divides the medians of whole operations. Beside the lock, the hash waits for
// a key that is in no cache. A retry also calls the limiter: what it takes beyond an
// AddAfter of a new key.
func measure(n, rounds int) (ops []operation) {
	all := workload.Ops()
	hashes, wholes := make([]float64, rounds), make([][]float64, len(all))
	others, news := workload.Tenants(1, n, 0), workload.Tenants(1, n, n)
	again := [][]string{workload.Shuffled(others[0])}
	for r := range rounds {
		hashes[r] = hashing(others[0])
		for i, op := range all {
			own := news
			if op.Again {
				own = again
			}
			wholes[i] = append(wholes[i], whole(op, others, own))
		}
	}
	hash := median(hashes)
	for i, op := range all {
		of := operation{name: op.Name, work: hash, holds: 1}
		switch {
		case op.Name == "Get,Done,Add":
			of.holds = 3
		case strings.HasPrefix(op.Name, "AddRateLimited"):
			delay := slices.IndexFunc(all, func(op workload.Op) bool { return op.Name == "AddAfter,new" })
			of.work = max(hash, hash+median(wholes[i])-median(wholes[delay]))
		}
		of.hold = max(0, median(wholes[i])-of.work) / float64(of.holds)
		ops = append(ops, of)
	}
	return ops
}

func whole(op workload.Op, others, own [][]string) float64 {
	q := engine.SideBySide()[0].New()
	defer q.ShutDown()
	op.Prepare(q, others)
	runtime.GC()
	start := time.Now()
	op.SideBySide(q, 1, own, len(own[0]))
	return perKey(start, len(own[0]))
}

func median(values []float64) float64 {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// hashing locks between the hashes, as an Add does, so that the processor does not
// read several keys at a time.
func hashing(keys []string) float64 {
	seed := maphash.MakeSeed()
	var mu sync.Mutex
	start, sum := time.Now(), uint64(0)
	for _, key := range keys {
		mu.Lock()
		sum += maphash.String(seed, key)
		mu.Unlock()
	}
	return perKey(start, len(keys)) + float64(sum&1)/1e9
}

func perKey(start time.Time, n int) float64 {
	return float64(time.Since(start).Nanoseconds()) / float64(n)
}

func write(m machine, op operation) {
	fmt.Println("| cores | shards by default | 4 for each core | 8 | 16 | no wait |")
	fmt.Println("|---:|---:|---:|---:|---:|---:|")
	for _, cores := range []int{1, 2, 8, 16, 64, 128} {
		fmt.Printf("| %d |", cores)
		for _, shards := range []int{shard.DefaultShards(cores), 4 * cores, 8 * cores, 16 * cores} {
			m := m
			m.cores, m.shards = cores, shards
			fmt.Printf(" %.1f (%d) |", m.perSecond(op)/1e6, shards)
		}
		fmt.Printf(" %.1f |\n", float64(cores)*1000/(op.work+op.hold*float64(op.holds)))
	}
}
