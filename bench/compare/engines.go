// Package compare has the queues that are compared with shardq's: client-go's
// workqueue, controller-runtime's priority queue, and a channel. It is a
// separate module, so that shardq does not require them.
package compare

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/heapqueue"
	"github.com/shardq/shardq/bench/workload"
	"github.com/shardq/shardq/limiter"
)

// ClientGo returns the engine of client-go's workqueue, without metrics.
func ClientGo() workload.Engine { return clientGo(5 * time.Millisecond) }

func clientGo(backoff time.Duration) workload.Engine {
	return workload.Engine{Name: "client-go", Shards: 1, New: func() workload.Queue {
		return workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](backoff, 200_000*backoff))
	}}
}

// SideBySide returns the engines of the benchmarks Scaling, and client-go with
// backoffs that do not expire.
func SideBySide() []workload.Engine {
	return append(engine.SideBySide(), clientGo(10*time.Hour))
}

// ControllerRuntime returns the engine of controller-runtime's priority queue.
func ControllerRuntime() workload.Engine {
	return workload.Engine{
		Name: "controller-runtime", Shards: 1,
		MaxKeys: 100_000, // an item takes many microseconds
		New:     func() workload.Queue { return priorityqueue.New[string]("") },
	}
}

// All returns the engines of this repository and the others.
func All() []workload.Engine {
	return append(engine.All(), ClientGo(), ControllerRuntime(), Channel())
}

// This compiles only if a queue of shardq can be used wherever client-go's can,
// for every type of item, and so can its limiters.
func _[T comparable](q *shardq.Queue[T], baseline *heapqueue.Queue[T], l limiter.Limiter[T]) {
	var (
		_ workqueue.TypedRateLimitingInterface[T] = q // which includes the other interfaces
		_ workqueue.TypedRateLimitingInterface[T] = baseline
		_ workqueue.TypedRateLimiter[T]           = l // every constructor of package limiter returns this
	)
}

// Channel returns the engine of a buffered channel, without deduplication and
// exclusion. Its delays are timers of package time, in a map under a mutex.
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
