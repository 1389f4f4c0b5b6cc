package shard

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardq/shardq/internal/testscale"
)

// The tests TestLitmus… run two or three goroutines against each other, over
// and over. Each tests a comment of this package that says that a race cannot
// be lost, or which order prevents it. They have failed when the line that the
// comment is about was broken, at once where a lock holds the window open
// (litmus_harness_test.go), otherwise at random.

// rounds returns how often to run a race, on two processors at least.
func rounds(t *testing.T, n int) int {
	processors := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(2)
	t.Cleanup(func() { runtime.GOMAXPROCS(processors) })
	if testing.Short() || underRace {
		return n / 10
	}
	return testscale.N(n)
}

// hangs is how long a test waits before it fails because something waits
// forever. Nothing is measured by it.
const hangs = time.Minute

// eventually waits for something that other goroutines are doing, without
// sleeping.
func eventually(t *testing.T, what string, happened func() bool) {
	var since time.Time
	for n := 0; !happened(); n++ {
		runtime.Gosched()
		switch {
		case n == 1000:
			since = time.Now()
		case n%1000 == 0 && n > 1000 && time.Since(since) > hangs:
			t.Fatalf("waited %v in vain: %s", hangs, what)
		}
	}
}

// pause spends a little time, differently in each round, so that two goroutines
// meet at other places.
func pause(round, longest int) {
	for range scatter(uint32(round)) % uint32(longest) {
		spin.Add(1)
	}
}

var spin atomic.Uint32

// scatter returns a number that looks random, the same for the same x.
func scatter(x uint32) uint32 { return uint32(uint64(x+1) * 0x9e3779b97f4a7c15 >> 32) }
