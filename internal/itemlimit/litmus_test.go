package itemlimit

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// TestLitmusWatermarksAtRest: one goroutine raises the weight held to the high
// watermark. Another lowers it to the low one while the first is about to clear
// busy. When both have finished, the last call of the hook agrees with the
// weight held, whichever goroutine made it (C41). The test has its own loop,
// because the window is a few nanoseconds wide.
func TestLitmusWatermarksAtRest(t *testing.T) {
	var held atomic.Int64
	var met atomic.Int64
	held.Add(1)
	n, wrong, pause := rounds(t, 1_000_000), 0, 0
	w := watermarks{low: 1, high: 2, hook: func(high bool) {
		for i := 0; high && i < pause; i++ {
			loop()
		}
	}}
	meet := func(times int) {
		met.Add(1)
		for met.Load() < 2*int64(times) {
			runtime.Gosched()
		}
	}
	raise := func(i int) {
		pause = i % 128
		held.Add(1)
		w.notify(&held)
	}
	lower := func(i int) {
		soon(w.reportedHigh.Load)
		for range i / 128 % 32 {
			loop()
		}
		held.Add(-1)
		w.notify(&held)
	}
	var other sync.WaitGroup
	other.Go(func() {
		for i := range n {
			meet(2*i + 1)
			lower(i)
			meet(2*i + 2)
		}
	})
	for i := range n {
		meet(2*i + 1)
		raise(i)
		meet(2*i + 2)
		if w.reportedHigh.Load() {
			wrong++
		}
	}
	other.Wait()
	if wrong > 0 {
		t.Errorf("in %d of %d rounds the last call was for the high watermark, want the low one", wrong, n)
	}
}

// rounds gives a test of two goroutines two processors, and returns its number
// of rounds.
func rounds(t *testing.T, n int) int {
	processors := runtime.GOMAXPROCS(2)
	t.Cleanup(func() { runtime.GOMAXPROCS(processors) })
	if testing.Short() {
		return n / 10
	}
	return n
}

// soon waits for an event that happens in a moment, if it has not happened yet.
func soon(happened func() bool) {
	for range 50 {
		for range 1000 {
			if happened() {
				return
			}
		}
		runtime.Gosched()
	}
}

//go:noinline
func loop() {}
