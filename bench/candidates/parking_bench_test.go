package candidates

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/shardq/shardq/bench/workload"
)

func parkings() map[string]func() parking {
	return map[string]func() parking{
		"one-token":  newOneToken,
		"token-each": newTokenEach,
		"condition":  newCondition,
	}
}

// BenchmarkParking compares ways to park 64 consumers. They wait for bursts of
// items, each of which is awaited before the next, or eight producers keep them
// busy.
func BenchmarkParking(b *testing.B) {
	names := slices.Sorted(maps.Keys(parkings()))
	for _, size := range []int{1, 8, 64} {
		keys := workload.Strings(size)
		for _, name := range names {
			b.Run(fmt.Sprintf("load=burst-of-%d/parking=%s", size, name), func(b *testing.B) {
				bursts(b, parkings()[name](), keys)
			})
		}
	}
	stream := workload.Uniform(workload.Strings(fewKeys))
	for _, name := range names {
		b.Run("load=8x64/parking="+name, func(b *testing.B) {
			p := parkings()[name]()
			traffic(b, parkedIn(p), stream, goroutines{8, parkedConsumers}, fewKeys)
			b.ReportMetric(float64(p.sleeps())/float64(b.N+fewKeys), "sleeps/item")
		})
	}
}

const parkedConsumers = 64

func parkedIn(p parking) workload.Queue[string] {
	return stripedQueue("", func(d *design[string]) { d.parking = func() parking { return p } }).new()
}

// bursts adds all keys and waits until each is done, again and again until b.N
// items are done.
func bursts(b *testing.B, p parking, keys []string) {
	q := parkedIn(p)
	var burst, running sync.WaitGroup
	for range parkedConsumers {
		running.Go(func() {
			for item, shutdown := q.Get(); !shutdown; item, shutdown = q.Get() {
				q.Done(item)
				burst.Done()
			}
		})
	}
	for first := 0; first < b.N; first += len(keys) {
		burst.Add(len(keys))
		workload.AddAll(q, keys)
		burst.Wait()
	}
	b.ReportMetric(float64(p.sleeps())/float64(b.N), "sleeps/item")
	q.ShutDown()
	running.Wait()
}
