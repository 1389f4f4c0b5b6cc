package compare

import (
	"sync"
	"time"

	"github.com/shardq/shardq/bench/workload"
)

// Channel returns the engine of a buffered channel: no deduplication and no
// exclusion, and Done does nothing. It shows the cost of passing items at all.
// Its delays are timers of package time, in a map under a mutex.
func Channel() workload.Engine {
	return workload.Engine{Name: "channel", Shards: 1, New: func() workload.Queue {
		return &channel{keys: make(chan string, 1<<20), stopped: make(chan struct{}), timers: map[string]*time.Timer{}}
	}}
}

type channel struct {
	keys     chan string // room for every key of any workload
	stopped  chan struct{}
	stopOnce sync.Once

	mu     sync.Mutex
	timers map[string]*time.Timer
}

// Add tries the plain send first, because a select of two cases costs several
// times as much, and is not measured here.
func (c *channel) Add(key string) {
	select {
	case c.keys <- key:
		return
	default:
	}
	select {
	case c.keys <- key:
	case <-c.stopped:
	}
}

func (c *channel) Get() (key string, shutdown bool) {
	select {
	case key = <-c.keys:
		return key, false
	default:
	}
	select {
	case key = <-c.keys:
		return key, false
	case <-c.stopped:
		return key, true
	}
}

func (c *channel) Done(string) {}
func (c *channel) Len() int    { return len(c.keys) }

func (c *channel) AddAfter(key string, duration time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if timer, beside := c.timers[key]; beside {
		timer.Reset(duration)
		return
	}
	c.timers[key] = time.AfterFunc(duration, func() {
		c.mu.Lock()
		delete(c.timers, key)
		c.mu.Unlock()
		c.Add(key)
	})
}

func (c *channel) ShutDown() {
	c.stopOnce.Do(func() { close(c.stopped) })
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, timer := range c.timers {
		timer.Stop()
	}
}
