package compare

import (
	"sync"
	"time"

	"github.com/zeromicro/go-zero/core/collection"

	"github.com/shardq/shardq/bench/workload"
)

// GoZero returns the engine of go-zero's timing wheel, with ticks of a
// millisecond as in shardq, and a channel to which it sends.
func GoZero[T comparable]() workload.Engine[T] {
	return workload.Engine[T]{
		Name:   "go-zero",
		Shards: 1,
		New:    func() workload.Queue[T] { return newGoZero[T]() },
	}
}

type goZero[T comparable] struct {
	*channel[T]
	wheel    *collection.TimingWheel
	stopOnce sync.Once
}

func newGoZero[T comparable]() *goZero[T] {
	const slots = 1024
	q := &goZero[T]{channel: newChannel[T](timerChannelCapacity)}
	wheel, err := collection.NewTimingWheel(time.Millisecond, slots, func(key, _ any) { q.Add(key.(T)) })
	if err != nil {
		panic(err) // the arguments above are valid
	}
	q.wheel = wheel
	return q
}

func (q *goZero[T]) AddAfter(item T, duration time.Duration) {
	// The only error is that the wheel is stopped. Then no item is expected.
	_ = q.wheel.SetTimer(item, nil, duration)
}

func (q *goZero[T]) ShutDown() {
	q.channel.ShutDown()
	q.stopOnce.Do(q.wheel.Stop)
}
