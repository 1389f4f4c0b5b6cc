// Package bench_test has the benchmarks of shardq: the same work over shardq,
// and over package heapqueue, the heap design with one lock.
//
//	go test -run '^$' -bench . ./bench            everything: some minutes
//	go test -run '^$' -bench . -short ./bench     small sizes
package bench_test

import (
	"hash/maphash"
	"sync"
	"testing"

	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/suite"
	"github.com/shardq/shardq/bench/workload"
)

func BenchmarkCycle(b *testing.B)  { suite.Run(b, "Cycle", engine.All()) }
func BenchmarkClosed(b *testing.B) { suite.Run(b, "Closed", append(engine.All(), engine.Floor(1<<20))) }
func BenchmarkOpen(b *testing.B)   { suite.Run(b, "Open", engine.All()) }
func BenchmarkAddAfter(b *testing.B) {
	suite.Run(b, "AddAfter", append(engine.All(), engine.Floor(1<<20)))
}
func BenchmarkDelayedCycle(b *testing.B) { suite.Run(b, "DelayedCycle", engine.All()) }
func BenchmarkLateness(b *testing.B)     { suite.Run(b, "Lateness", engine.All()) }
func BenchmarkMemory(b *testing.B)       { suite.Run(b, "Memory", engine.All()) }
func BenchmarkScaling(b *testing.B)      { suite.Run(b, "Scaling", engine.SideBySide()) }

func BenchmarkFloor(b *testing.B) { floor(workload.Uniform(workload.Strings(1000)), b.N) }

// floor does three hashes, three uncontended locks and three operations of a Go
// map for each item: the least that Add, Get and Done cost if each hashes,
// locks and searches once.
func floor(stream workload.Stream, items int) {
	var (
		seed  = maphash.MakeSeed()
		locks [64]sync.Mutex
		known = map[string]struct{}{}
	)
	for i := range items {
		key := stream.At(i)
		lock := &locks[maphash.String(seed, key)%64]
		lock.Lock()
		known[key] = struct{}{}
		lock.Unlock()

		lock = &locks[maphash.String(seed, key)%64]
		lock.Lock()
		_ = known[key]
		lock.Unlock()

		lock = &locks[maphash.String(seed, key)%64]
		lock.Lock()
		delete(known, key)
		lock.Unlock()
	}
}
