package workload

import (
	"sync/atomic"
	"time"
)

// counter is a counter on its own cache line.
type counter struct {
	atomic.Int64
	_ [120]byte
}

// awaitSum waits until the counters add up to enough. It polls, because
// notifications would slow the workers down.
func awaitSum(counters []counter, enough int64) {
	const pause = 50 * time.Microsecond
	for sum(counters) < enough {
		time.Sleep(pause)
	}
}

func sum(counters []counter) (total int64) {
	for i := range counters {
		total += counters[i].Load()
	}
	return total
}
