package workload

import (
	"slices"
	"time"
)

// Lateness adds a key for each delay, and returns by how much after its deadline
// each came out of Get, in increasing order. The deadline is counted from just
// before AddAfter is called. Nothing else goes on: what shows is the resolution of
// the engine and the runtime's timers. The queue must be empty; it is shut down
// in the end.
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
