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
// weight held, whichever goroutine made it (C41). The window is a few
// nanoseconds wide.
func TestLitmusWatermarksAtRest(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	var held, met atomic.Int64
	held.Add(1)
	rounds, wrong, pause := 300_000, 0, 0
	w := watermarks{low: 1, high: 2, hook: func(high bool) {
		if high {
			spin(pause)
		}
	}}
	meet := func(times int) {
		met.Add(1)
		for met.Load() < 2*int64(times) {
			runtime.Gosched()
		}
	}
	var other sync.WaitGroup
	other.Go(func() {
		for i := range rounds {
			meet(2*i + 1)
			for n := 1; n < 50_000 && !w.reportedHigh.Load(); n++ {
				if n%1000 == 0 {
					runtime.Gosched()
				}
			}
			spin(i / 128 % 32)
			held.Add(-1)
			w.notify(&held)
			meet(2*i + 2)
		}
	})
	for i := range rounds {
		meet(2*i + 1)
		pause = i % 128
		held.Add(1)
		w.notify(&held)
		meet(2*i + 2)
		if w.reportedHigh.Load() {
			wrong++
		}
	}
	other.Wait()
	if wrong > 0 {
		t.Errorf("in %d of %d rounds the last call was for the high watermark, want the low one", wrong, rounds)
	}
}

func spin(n int) {
	for range n {
		loop()
	}
}

//go:noinline
func loop() {}
