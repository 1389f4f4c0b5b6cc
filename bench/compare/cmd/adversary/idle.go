package main

import (
	"runtime"
	"sync/atomic"
	"time"
)

const idleText = `Ten thousand queues are measured when they are new. They are measured again
after each has taken one item through Add, Get and Done, and another through a
delay of a millisecond. Wake-ups are the calls to and from the clock of all
queues together while they are unused, for twenty-one seconds. client-go's
periodic wake-up comes every ten. controller-runtime's queue takes no clock to
count them at.`

func idleQueues(b *bench, t target) *figures {
	var wakes atomic.Int64
	many := manyIdle{figures: newFigures(t), n: b.countAtLeast(leastMany, 10_000)}
	goroutines := runtime.NumGoroutine()
	many.make(counted(&wakes))
	before := wakes.Load()
	time.Sleep(max(time.Duration(float64(21*time.Second)*b.scale), 50*time.Millisecond))
	if t.engine != controllerRuntime {
		many.bounded("C25", "wake-ups of all while idle", count, 0, float64(wakes.Load()-before))
	}
	for _, q := range many.queues {
		q.ShutDown()
	}
	goroutinesSince(goroutines) // otherwise the next count could miss goroutines that are ending
	return many.figures
}

// manyIdle is many queues with nothing to do.
type manyIdle struct {
	*figures
	n      int
	queues []queue[string]
}

// newQueueLimit is the limit of C25 for a new queue.
const newQueueLimit = 8 << 10

func (c *manyIdle) make(times timeSource) {
	c.queues = make([]queue[string], c.n)
	goroutines := runtime.NumGoroutine()
	heap, stacks := liveHeap(), read(heapStacks)
	start := time.Now()
	for i := range c.queues {
		c.queues[i] = newQueue[string](c.target, setup{time: times})
	}
	c.each("to make one", time.Since(start), c.n)
	c.bounded("C25", "heap of a new queue", bytes, newQueueLimit, (liveHeap()-heap)/float64(c.n))
	c.add("stacks of a new queue", bytes, max(0, read(heapStacks)-stacks)/float64(c.n))
	c.bounded("C25", "goroutines of a new queue", count, 0, goroutinesSince(goroutines)/float64(c.n))
	c.use()
	c.add("heap of a queue that was used", bytes, (liveHeap()-heap)/float64(c.n))
	c.bounded("C25", "goroutines of a queue that was used", count, 0, goroutinesSince(goroutines)/float64(c.n))
}

// use passes an item through each queue, and another after a delay.
func (c *manyIdle) use() {
	for _, q := range c.queues {
		q.Add("now")
		getAndDone(q)
		q.AddAfter("later", time.Millisecond)
	}
	for _, q := range c.queues {
		getAndDone(q)
	}
}

func getAndDone[T comparable](q queue[T]) {
	item, _ := q.Get()
	q.Done(item)
}
