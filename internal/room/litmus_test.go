package room

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/shardq/shardq/internal/shared"
)

// TestLitmusWatermarksAtRest: one raises the number to the high watermark, and another lowers
// it to the low one while the first is at the end of telling. Whenever both are through, what
// was told last is so, whoever of the two left it to the other (C41). They meet in a loop of
// their own, since the window is a few nanoseconds wide.
func TestLitmusWatermarksAtRest(t *testing.T) {
	var held shared.Int64[shared.Held]
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
		w.look(&held)
	}
	lower := func(i int) {
		soon(w.told.Load)
		for range i / 128 % 32 {
			loop()
		}
		held.Add(-1)
		w.look(&held)
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
		if w.told.Load() {
			wrong++
		}
	}
	other.Wait()
	if wrong > 0 {
		t.Errorf("in %d of %d meetings the high watermark was told last, and the low one reached", wrong, n)
	}
}

// rounds gives a test of two goroutines two processors, and says how many rounds it plays.
func rounds(t *testing.T, n int) int {
	processors := runtime.GOMAXPROCS(2)
	t.Cleanup(func() { runtime.GOMAXPROCS(processors) })
	if testing.Short() {
		return n / 10
	}
	return n
}

// soon waits for what should happen in a moment, or has happened already.
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
