package workload

import (
	"slices"
	"time"
)

// Lateness adds a key for each delay, and returns how long after its deadline
// each was handed out, in increasing order. The deadline is measured from just
// before the call of AddAfter. Nothing else runs, so that the result shows the
// resolution of the engine and of the runtime's timers. The queue must be
// empty. Lateness shuts it down.
func Lateness(q DelayingQueue[uint64], delays []time.Duration) []time.Duration {
	deadlines := make([]time.Time, len(delays))
	for i, delay := range delays {
		deadlines[i] = time.Now().Add(delay)
		q.AddAfter(uint64(i), delay)
	}
	late := make([]time.Duration, len(delays))
	for i := range late {
		item, _ := q.Get()
		late[i] = time.Since(deadlines[item])
		q.Done(item)
	}
	q.ShutDown()
	slices.Sort(late)
	return late
}
