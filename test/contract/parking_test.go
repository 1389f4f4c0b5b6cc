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

// A crew is a number of consumers, each of which keeps the item that it got until it
// is let go: so every ready item needs a consumer of its own to wake. It lives in a
// bubble, where synctest.Wait returns once each of them sleeps for good.
type crew struct {
	q       *shardq.Queue[int]
	holding atomic.Int32
	letGo   chan struct{}
	group   sync.WaitGroup
}

// hire starts consumers and waits until each of them sleeps.
func (c *crew) hire(consumers int) {
	for range consumers {
		c.group.Go(c.consume)
	}
	synctest.Wait()
}

func (c *crew) consume() {
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

// requireHolding waits for stillness, and checks that nobody sleeps beside a ready
// item.
func (c *crew) requireHolding(t *testing.T, items int) {
	t.Helper()
	synctest.Wait()
	require.EqualValues(t, items, c.holding.Load())
	require.Zero(t, c.q.Len(), "ready beside a sleeping consumer")
}

// release lets n consumers end their items.
func (c *crew) release(n int) {
	for range n {
		c.letGo <- struct{}{}
	}
}

func (c *crew) dismiss() {
	c.q.ShutDown()
	c.group.Wait()
}

func forEachCrew(t *testing.T, test func(t *testing.T, c *crew, consumers int)) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		for _, consumers := range []int{1, 2, 3, 50} {
			synctest.Test(t, func(t *testing.T) {
				c := &crew{q: newQueue[int](shards), letGo: make(chan struct{})}
				defer c.dismiss()
				test(t, c, consumers)
			})
		}
	})
}

// As many items as consumers, added by one goroutine or by as many.
func TestC4BurstOfAsManyItemsAsSleepers(t *testing.T) {
	forEachCrew(t, func(t *testing.T, c *crew, consumers int) {
		c.hire(consumers)
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
	forEachCrew(t, func(t *testing.T, c *crew, consumers int) {
		c.hire(consumers)
		for i := range consumers {
			c.q.Add(i)
			c.requireHolding(t, i+1)
		}
		c.release(consumers)
		c.requireHolding(t, 0)
	})
}

// Items that become ready by the Done of somebody who takes nothing himself.
func TestC4DirtyItemsAtDone(t *testing.T) {
	forEachCrew(t, func(t *testing.T, c *crew, consumers int) {
		items := numbers(consumers)
		for _, item := range items {
			c.q.Add(item)
			takeItem(t, c.q, item)
			c.q.Add(item)
		}
		c.hire(consumers)
		c.requireHolding(t, 0)
		for _, item := range items {
			c.q.Done(item)
		}
		c.requireHolding(t, consumers)
		c.release(consumers)
	})
}

// Items whose delays end at one tick, and at several.
func TestC4DelaysThatEnd(t *testing.T) {
	forEachCrew(t, func(t *testing.T, c *crew, consumers int) {
		c.hire(consumers)
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

// An item comes just as the one consumer, who has found nothing, goes to sleep. No
// other item follows that would make good for a lost wake-up. With as many shards as
// there can be, the consumer is long in finding nothing.
func TestC4ConsumerGoingToSleep(t *testing.T) {
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
		for spins := 0; gets.Load() == before; spins++ { // until it is on its way
			if spins%1000 == 999 {
				runtime.Gosched()
			}
		}
		for range random.IntN(100) {
			gets.Load()
		}
		q.Add(2)
		synctest.Wait()
		require.Zero(t, q.Len(), "ready beside a sleeping consumer")
	}
	q.ShutDown()
	consumer.Wait()
}

// The parked of H25: more than 8,000 goroutines are more than the race detector has
// room for.
func manyParked() int { return scaled(100_000, 4_000) }

func TestH25ManyParkedGetsReleasedByShutDown(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		var told atomic.Int32
		var group sync.WaitGroup
		for range manyParked() {
			group.Go(func() {
				if item, shutdown := q.Get(); shutdown && item == 0 {
					told.Add(1)
				}
			})
		}
		synctest.Wait()
		require.Zero(t, told.Load())
		q.ShutDown()
		group.Wait()
		require.EqualValues(t, manyParked(), told.Load())
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
