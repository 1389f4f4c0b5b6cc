package contract

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

// A consumerGroup is a number of consumers, each of which keeps its item until
// it is released. So a consumer must wake for every ready item. The group runs
// in a bubble, where synctest.Wait returns when all of them are blocked.
type consumerGroup struct {
	q       *shardq.Queue[int]
	holding atomic.Int32
	letGo   chan struct{}
	group   sync.WaitGroup
}

// start starts consumers and waits until all of them are parked.
func (c *consumerGroup) start(consumers int) {
	for range consumers {
		c.group.Go(c.consume)
	}
	synctest.Wait()
}

func (c *consumerGroup) consume() {
	for {
		item, shutdown := c.q.Get()
		if shutdown {
			return
		}
		c.holding.Add(1)
		<-c.letGo
		c.holding.Add(-1)
		c.q.Done(item)
	}
}

// requireHolding waits until all goroutines are blocked, and checks that no
// consumer is parked while an item is ready.
func (c *consumerGroup) requireHolding(t *testing.T, items int) {
	t.Helper()
	synctest.Wait()
	require.EqualValues(t, items, c.holding.Load())
	require.Zero(t, c.q.Len(), "ready beside a parked consumer")
}

// release lets n consumers end their items.
func (c *consumerGroup) release(n int) {
	for range n {
		c.letGo <- struct{}{}
	}
}

func (c *consumerGroup) stop() {
	c.q.ShutDown()
	c.group.Wait()
}

func forEachConsumerGroup(t *testing.T, test func(t *testing.T, c *consumerGroup, consumers int)) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		for _, consumers := range []int{1, 2, 3, 50} {
			synctest.Test(t, func(t *testing.T) {
				c := &consumerGroup{q: newQueue[int](shards), letGo: make(chan struct{})}
				defer c.stop()
				test(t, c, consumers)
			})
		}
	})
}

// There are as many items as consumers, added by one goroutine or by as many.
func TestC4BurstOfAsManyItemsAsParkedConsumers(t *testing.T) {
	forEachConsumerGroup(t, func(t *testing.T, c *consumerGroup, consumers int) {
		c.start(consumers)
		for round := range scaled(300, 40) {
			if round%2 == 0 {
				together(consumers, c.q.Add)
			} else {
				for i := range consumers {
					c.q.Add(i)
				}
			}
			c.requireHolding(t, consumers)
			c.release(consumers)
		}
	})
}

func TestC4ItemsOneByOne(t *testing.T) {
	forEachConsumerGroup(t, func(t *testing.T, c *consumerGroup, consumers int) {
		c.start(consumers)
		for i := range consumers {
			c.q.Add(i)
			c.requireHolding(t, i+1)
		}
		c.release(consumers)
		c.requireHolding(t, 0)
	})
}

// Items become ready by the Done of a goroutine that takes nothing.
func TestC4DirtyItemsAtDone(t *testing.T) {
	forEachConsumerGroup(t, func(t *testing.T, c *consumerGroup, consumers int) {
		items := numbers(consumers)
		for _, item := range items {
			c.q.Add(item)
			takeItem(t, c.q, item)
			c.q.Add(item)
		}
		c.start(consumers)
		c.requireHolding(t, 0)
		for _, item := range items {
			c.q.Done(item)
		}
		c.requireHolding(t, consumers)
		c.release(consumers)
	})
}

// Delays expire at one tick, and at several.
func TestC4DelaysThatExpire(t *testing.T) {
	forEachConsumerGroup(t, func(t *testing.T, c *consumerGroup, consumers int) {
		c.start(consumers)
		for _, spread := range []time.Duration{0, 100 * time.Microsecond, 5 * time.Millisecond} {
			for i := range consumers {
				c.q.AddAfter(i, time.Second+time.Duration(i)*spread)
			}
			c.requireHolding(t, 0)
			time.Sleep(2 * time.Second)
			c.requireHolding(t, consumers)
			c.release(consumers)
		}
	})
}

// An item is added just as the only consumer, which has found nothing, parks.
// No other item follows, which could make up for a lost wake-up. With the
// largest number of shards, the consumer takes long to find nothing.
func TestC4ConsumerThatIsAboutToPark(t *testing.T) {
	forEachShardCountInBubble(t, testGoingToSleep)
	t.Run("shards=4096", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { testGoingToSleep(t, shardq.MaxShards) })
	})
}

func testGoingToSleep(t *testing.T, shards int) {
	q := newQueue[int](shards)
	var gets atomic.Int64
	var consumer sync.WaitGroup
	consumer.Go(func() {
		for {
			gets.Add(1)
			item, shutdown := q.Get()
			if shutdown {
				return
			}
			q.Done(item)
		}
	})
	random := rand.New(rand.NewPCG(uint64(shards), 3))
	for range scaled(40_000, 10_000) {
		before := gets.Load()
		q.Add(1)
		for spins := 0; gets.Load() == before; spins++ { // until the consumer takes the item
			if spins%1000 == 999 {
				runtime.Gosched()
			}
		}
		for range random.IntN(100) {
			gets.Load()
		}
		q.Add(2)
		synctest.Wait()
		require.Zero(t, q.Len(), "ready beside a parked consumer")
	}
	q.ShutDown()
	consumer.Wait()
}

// manyParked returns the number of parked consumers of H25. The race detector
// supports at most about 8,000 goroutines.
func manyParked() int { return scaled(100_000, 4_000) }

func TestH25ManyParkedGetsReleasedByShutDown(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		var reported atomic.Int32
		var group sync.WaitGroup
		for range manyParked() {
			group.Go(func() {
				if item, shutdown := q.Get(); shutdown && item == 0 {
					reported.Add(1)
				}
			})
		}
		synctest.Wait()
		require.Zero(t, reported.Load())
		q.ShutDown()
		group.Wait()
		require.EqualValues(t, manyParked(), reported.Load())
	})
}

func TestH25ManyParkedGetsReleasedByItems(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		var sum atomic.Int64
		var group sync.WaitGroup
		for range manyParked() {
			group.Go(func() {
				item, _ := q.Get()
				sum.Add(int64(item))
			})
		}
		synctest.Wait()
		n := manyParked()
		for item := range n {
			q.Add(item)
		}
		group.Wait()
		require.EqualValues(t, n*(n-1)/2, sum.Load())
		requireCounts(t, q, 0, 0, n)
	})
}
