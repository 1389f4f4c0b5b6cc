package compare

import (
	"sync"

	"github.com/shardq/shardq/bench/workload"
)

// Channel returns the engine of a buffered channel: no deduplication and no
// exclusion, and Done does nothing. It shows the cost of passing items at all.
func Channel[T comparable](capacity int) workload.Engine[T] {
	return workload.Engine[T]{
		Name:   "channel",
		Shards: 1,
		New:    func() workload.Queue[T] { return newChannel[T](capacity) },
	}
}

type channel[T comparable] struct {
	items    chan T
	stopped  chan struct{}
	stopOnce sync.Once
}

func newChannel[T comparable](capacity int) *channel[T] {
	return &channel[T]{items: make(chan T, capacity), stopped: make(chan struct{})}
}

// Add tries the plain send first, because a select of two cases costs several
// times as much, and is not what is measured here.
func (c *channel[T]) Add(item T) {
	select {
	case c.items <- item:
		return
	default:
	}
	select {
	case c.items <- item:
	case <-c.stopped:
	}
}

func (c *channel[T]) Get() (item T, shutdown bool) {
	select {
	case item = <-c.items:
		return item, false
	default:
	}
	select {
	case item = <-c.items:
		return item, false
	case <-c.stopped:
		return item, true
	}
}

func (c *channel[T]) Done(T)    {}
func (c *channel[T]) Len() int  { return len(c.items) }
func (c *channel[T]) ShutDown() { c.stopOnce.Do(func() { close(c.stopped) }) }
