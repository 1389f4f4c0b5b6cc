package workload

import (
	"sync/atomic"
	"time"
)

// counter is a counter on a cache line of its own.
type counter struct {
	atomic.Int64
	_ [120]byte
}

// awaitSum waits until the counters add up to enough. It looks now and then rather
// than have the workers tell, whom that would slow down.
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
