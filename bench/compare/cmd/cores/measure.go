package main

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	// The compiler inlines what a direct import exports. Users import these
	// directly.
	_ "k8s.io/client-go/util/workqueue"

	_ "github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/compare"
	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/workload"
)

// measureTransfer returns the nanoseconds that a cache line takes from one core
// to another on this machine: the least of some runs, because every disturbance
// adds to it. Two threads exchange a word in turn.
func measureTransfer(runs, exchanges int) float64 {
	least := math.Inf(1)
	for range runs {
		least = min(least, exchange(exchanges))
	}
	return least
}

func exchange(times int) float64 {
	var word struct {
		_ [128]byte
		atomic.Uint64
		_ [128]byte
	}
	var both sync.WaitGroup
	play := func(parity uint64) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for turn := parity; turn < 2*uint64(times); turn += 2 {
			for spins := 0; !word.CompareAndSwap(turn, turn+1); spins++ {
				if spins > 1<<16 {
					runtime.Gosched() // there may be one processor
				}
			}
		}
	}
	start := time.Now()
	both.Go(func() { play(0) })
	both.Go(func() { play(1) })
	both.Wait()
	return float64(time.Since(start).Nanoseconds()) / float64(2*times)
}

// measured has the nanoseconds of an item, by design. With several cores, it is
// the elapsed time for each item.
type measured [designs]float64

// measure returns the least of some rounds, because a disturbance adds to a
// measurement, and the model has no disturbance. In each round all designs are
// measured in turn.
func measure(cores, rounds int, each time.Duration) (m measured) {
	before := runtime.GOMAXPROCS(cores)
	defer runtime.GOMAXPROCS(before)
	keys := workload.Shuffled(workload.Strings(1 << 16))
	load := workload.Load{Producers: 4 * cores, Consumers: 4 * cores, Warmup: len(keys), Items: math.MaxInt / 8, Limit: each}
	n := engine.DefaultShards()
	work := [designs]func() float64{
		full: func() float64 {
			return workload.Closed(engine.Shardq[string](n).New(), keys, load).NanosecondsPerItem()
		},
		nearEmpty: func() float64 {
			return cycles(engine.Shardq[string](n).New(), keys, cores, each)
		},
		batches: func() float64 {
			q := engine.Claims[string](n).New().(workload.BatchQueue[string])
			return workload.Batches(q, keys, load).NanosecondsPerItem()
		},
		peer: func() float64 {
			return workload.Closed(compare.ClientGo[string]().New(), keys, load).NanosecondsPerItem()
		},
		peerNearEmpty: func() float64 {
			return cycles(compare.ClientGo[string]().New(), keys, cores, each)
		},
	}
	for d := range m {
		m[d] = math.Inf(1)
	}
	for range rounds {
		for d, measure := range work {
			workload.Collect()
			m[d] = min(m[d], measure())
		}
	}
	return m
}

// cycles has a goroutine for each core. Each goroutine repeats to add an item
// and to take one, so that the queue never holds more items than there are
// goroutines.
func cycles(q workload.Queue[string], keys []string, cores int, each time.Duration) float64 {
	defer q.ShutDown()
	var done atomic.Int64
	var running sync.WaitGroup
	start := time.Now()
	for g := range cores {
		mine := keys[g*len(keys)/cores : (g+1)*len(keys)/cores]
		running.Go(func() {
			for i := 0; time.Since(start) < each; {
				for range 64 {
					q.Add(mine[i%len(mine)])
					item, _ := q.Get()
					q.Done(item)
					i++
				}
				done.Add(64)
			}
		})
	}
	running.Wait()
	return float64(time.Since(start).Nanoseconds()) / float64(done.Load())
}
