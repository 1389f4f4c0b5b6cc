// Package bench_test has the benchmarks of shardq: the same work over shardq,
// and over package heapqueue, the heap design with one lock.
//
//	go test -run '^$' -bench . ./bench            everything: some minutes
//	go test -run '^$' -bench . -short ./bench     small sizes
package bench_test

import (
	"testing"

	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/suite"
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
