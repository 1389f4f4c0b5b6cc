package compare

import (
	"sync"
	"time"

	"github.com/shardq/shardq/bench/workload"
)

// timerChannelCapacity is the number of expired items that the channel holds.
const timerChannelCapacity = 1 << 20

// AfterFunc returns the engine that uses only package time: a timer for each
// item in a map under a mutex, and a channel to which they send.
func AfterFunc[T comparable]() workload.Engine[T] {
	return workload.Engine[T]{
		Name:   "time.AfterFunc",
		Shards: 1,
		New: func() workload.Queue[T] {
			return &afterFunc[T]{channel: newChannel[T](timerChannelCapacity), timers: map[T]*time.Timer{}}
		},
	}
}

type afterFunc[T comparable] struct {
	*channel[T]
	mu     sync.Mutex
	timers map[T]*time.Timer
}

func (q *afterFunc[T]) AddAfter(item T, duration time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if timer, beside := q.timers[item]; beside {
		timer.Reset(duration)
		return
	}
	q.timers[item] = time.AfterFunc(duration, func() { q.fire(item) })
}

func (q *afterFunc[T]) fire(item T) {
	q.mu.Lock()
	delete(q.timers, item)
	q.mu.Unlock()
	q.Add(item)
}

func (q *afterFunc[T]) ShutDown() {
	q.channel.ShutDown()
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, timer := range q.timers {
		timer.Stop()
	}
}
