// Command cores measures how long operations hold the lock of a shard, on one core,
// and simulates the same on many: goroutines wait for each other, and the cache lines
// of a shard go from core to core. It omits what cores share beside the shards, and
// the bandwidth of the memory.
//
//	go run ./bench/cores
package main

import (
	"flag"
	"fmt"
	"hash/maphash"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/workload"
	"github.com/shardq/shardq/shard"
)

func main() {
	keys := flag.Int("keys", 1_000_000, "ready or delayed `keys`, which are in no cache")
	m := machine{}
	flag.Float64Var(&m.move, "move", 150, "`ns` for the lines of a shard that another core has used last")
	flag.Float64Var(&m.spin, "spin", 2_000, "`ns` before a waiter parks")
	flag.Float64Var(&m.wake, "wake", 50_000, "`ns` from an unlock until a parked waiter runs")
	flag.Parse()
	for _, op := range measure(*keys) {
		fmt.Printf("\n%s: %.0f ns, and %d × %.0f ns under the lock; millions a second:\n\n", op.name, op.work, op.holds, op.hold)
		write(m, op)
	}
}

// measure takes for work the hash of a cold key and, of a retry, the limiter. The
// rest of an operation is under the lock.
func measure(n int) (ops []operation) {
	var delay float64 // under the lock, of a new key
	others, news := workload.Tenants(1, n, 0), workload.Tenants(1, n, n)
	hash := hashing(others[0])
	for _, op := range workload.Ops() {
		q, own := engine.SideBySide()[0].New(), news
		if op.Again {
			own = others
		}
		op.Prepare(q, others)
		runtime.GC()
		start := time.Now()
		op.SideBySide(q, 1, own, n)
		of := operation{name: op.Name, work: hash, holds: 1}
		whole := perKey(start, n)
		q.ShutDown()
		switch {
		case op.Name == "Get,Done,Add":
			of.holds = 3
		case op.Name == "AddAfter,new":
			delay = whole - hash
		case strings.HasPrefix(op.Name, "AddRateLimited"):
			of.work = whole - delay
		}
		of.hold = (whole - of.work) / float64(of.holds)
		ops = append(ops, of)
	}
	return ops
}

// hashing locks between the hashes, so that one at a time waits for its key.
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
