package shard

import (
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// TestSetAgainstModel runs random sequences of calls on a set and the model,
// and compares order, counters and everything inside after each.
func TestSetAgainstModel(t *testing.T) {
	for _, shards := range []int{1, 3, 130} {
		for _, cancel := range []bool{false, true} {
			config := Config[int]{Shards: shards, Rules: Rules{CancelDelayOnAdd: cancel}, Ages: cancel, Metrics: cancel}
			t.Run(fmt.Sprintf("shards=%d,cancel=%v", shards, cancel), func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) {
					config := config
					config.Tick = tickSizes.Draw(t, "tick")
					c := newCheckedSet(t, config)
					c.levels = rapid.Bool().Draw(t, "levels")
					for range 2 { // more steps than Repeat does by itself
						t.Repeat(setActions(c))
					}
					c.drainAll()
				})
			})
		}
	}
}

var tickSizes = rapid.SampledFrom([]time.Duration{time.Millisecond, 7 * time.Millisecond, time.Second, 3})

func setActions(c *checkedSet) map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"":          func(*rapid.T) { c.check() },
		"add":       func(t *rapid.T) { c.add(item(t)) },
		"add after": func(t *rapid.T) { c.addAfter(item(t), delay(t)) },
		"add with": func(t *rapid.T) {
			policy := rapid.SampledFrom([]DelayPolicy{KeepEarliest, KeepLatest, KeepNew, KeepOld}).Draw(t, "policy")
			c.addWith(item(t), Delay{Duration: delay(t), Policy: policy, MaxWait: maxWait(t), Priority: c.priority(t)})
		},
		"cancel":     func(t *rapid.T) { c.cancel(item(t)) },
		"add batch":  func(t *rapid.T) { c.addBatch(batch(t)) },
		"get batch":  func(t *rapid.T) { c.getBatch(rapid.IntRange(0, 100).Draw(t, "n")) },
		"done batch": func(t *rapid.T) { c.doneBatch(batch(t)) },
		"get":        func(*rapid.T) { c.get() },
		"done":       func(t *rapid.T) { c.done(item(t)) },
		"done some":  func(t *rapid.T) { c.doneSome(rapid.IntRange(1, 3).Draw(t, "n")) },
		"step":       func(t *rapid.T) { c.step(rapid.SampledFrom(steps).Draw(t, "d")) },
		"step to next": func(t *rapid.T) {
			c.stepToNext(rapid.SampledFrom([]time.Duration{-1, 0, 1, c.tick}).Draw(t, "more"))
		},
		"burst": func(t *rapid.T) { c.burst(t) },
		"shut down": func(t *rapid.T) {
			if rapid.IntRange(0, 9).Draw(t, "0 shuts down") == 0 {
				c.shutDown()
			}
		},
	}
}

func item(t *rapid.T) int { return rapid.IntRange(0, 9).Draw(t, "item") }

var steps = []time.Duration{0, 1, time.Microsecond, time.Millisecond, 10 * time.Millisecond,
	time.Second, time.Minute, 5 * time.Hour, -time.Millisecond, -time.Second, -time.Hour}

// batch draws some items, sometimes more than one partition takes.
func batch(t *rapid.T) []int {
	return rapid.SliceOfN(rapid.IntRange(0, 99), 0, 3*batchSize).Draw(t, "batch")
}

// priority is 0 in most sequences, so that levels are rare there, and frequent
// in the others.
func (c *checkedSet) priority(t *rapid.T) int {
	if !c.levels {
		return 0
	}
	return rapid.SampledFrom([]int{0, 0, 1, 2, -1, 7, 100, -100, 101, 104, math.MaxInt, math.MinInt}).Draw(t, "priority")
}

func maxWait(t *rapid.T) time.Duration {
	return rapid.SampledFrom([]time.Duration{math.MinInt64, 0, 0, 0, 1, time.Millisecond,
		50 * time.Millisecond, time.Minute, math.MaxInt64}).Draw(t, "longest wait")
}

func delay(t *rapid.T) time.Duration {
	return rapid.OneOf(
		rapid.SampledFrom([]time.Duration{math.MinInt64, -1, 0, 1, 2, time.Microsecond,
			time.Millisecond, 64 * time.Millisecond, time.Hour, math.MaxInt64}),
		rapid.Map(rapid.IntRange(1, 200), func(n int) time.Duration { return time.Duration(n) * time.Millisecond }),
	).Draw(t, "delay")
}

// burst adds many items, and takes some of them, so that memory grows and is
// used again for others.
func (c *checkedSet) burst(t *rapid.T) {
	first := rapid.IntRange(0, 1500).Draw(t, "first")
	n := rapid.IntRange(1, 300).Draw(t, "n")
	do := rapid.SampledFrom([]string{"add", "add after", "get", "done", "all"}).Draw(t, "what")
	for item := first; item < first+n; item++ {
		switch do {
		case "add":
			c.add(item)
		case "add after":
			c.addAfter(item, time.Duration(1+item%50)*time.Millisecond)
		case "get":
			c.get()
		case "done":
			c.done(item)
		case "all":
			c.add(item)
			c.get()
			c.done(item)
		}
	}
}

// TestDrainAgainstModel has calls of ShutDownWithDrain under way, and checks
// after each step that exactly those have returned that should have.
func TestDrainAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			c := newCheckedSet(t, Config[int]{Shards: rapid.IntRange(1, 3).Draw(t, "shards")})
			d := &drains{checkedSet: c}
			actions := setActions(c)
			delete(actions, "burst")
			actions[""] = func(*rapid.T) { d.check() }
			actions["drain"] = func(t *rapid.T) {
				if rapid.IntRange(0, 5).Draw(t, "0 drains") == 0 {
					d.start()
				}
			}
			actions["shut down"] = func(t *rapid.T) {
				if rapid.IntRange(0, 5).Draw(t, "0 shuts down") == 0 {
					d.shutDown()
				}
			}
			t.Repeat(actions)
			d.start()
			c.drainAll()
			d.check()
		})
	})
}

type drains struct {
	*checkedSet
	underWay int32
	returned atomic.Int32 // of those that were under way
}

func (d *drains) start() {
	d.underWay++
	go func() {
		d.set.ShutDownWithDrain()
		d.returned.Add(1)
	}()
	d.model.shutDown()
	synctest.Wait()
}

func (d *drains) shutDown() {
	d.checkedSet.shutDown()
	synctest.Wait()
	d.expect(d.underWay, "after a ShutDown")
}

func (d *drains) check() {
	d.Helper()
	d.checkedSet.check()
	synctest.Wait()
	if d.model.quiescent() {
		d.expect(d.underWay, "with nothing left to do")
	} else {
		d.expect(0, "with items left")
	}
}

// expect forgets the drains that have returned.
func (d *drains) expect(returned int32, when string) {
	d.Helper()
	if got := d.returned.Swap(0); got != returned {
		d.Fatalf("%s, %d of %d drains have returned: %+v", when, got, d.underWay, d.model.stats)
	}
	d.underWay -= returned
}

// TestOrderOfOneShard: one shard is a FIFO, and a dirty item joins it at its
// Done.
func TestOrderOfOneShard(t *testing.T) {
	s := newTestSet[string](t, Config[string]{})
	s.Add("a")
	s.Add("b")
	s.Get() // a
	s.Add("a")
	s.Add("c")
	s.Done("a")
	var got []string
	for range 3 {
		item, _ := s.Get()
		got = append(got, item)
	}
	if want := []string{"b", "c", "a"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestTurnsBound: an item is handed out within a number of Gets that follows
// from its place in its shard, whatever is added meanwhile: see lateness.
func TestTurnsBound(t *testing.T) {
	for _, shards := range []int{1, 2, 3, 16, 64, 65, 100, 130} {
		t.Run(fmt.Sprintf("shards=%d", shards), func(t *testing.T) {
			keepStack(t)
			s := newTestSet(t, Config[int]{Shards: shards})
			type added struct{ place, gets int }
			ready := map[int]added{}
			gets, next := 0, 0
			add := func() {
				s.Add(next)
				sh := s.shardOf(next)
				ready[next] = added{int(sh.ready.fifo.length), gets}
				next++
			}
			for range 5 * shards {
				add()
			}
			for s.Len() > 0 {
				gets++
				item, _ := s.Get()
				was := ready[item]
				if most := lateness(was.place, shards, lanesUsed(s)); gets-was.gets > most {
					t.Fatalf("item %d, at place %d, was handed out by the %dth Get, not by the %dth",
						item, was.place, gets-was.gets, most)
				}
				if gets < 100*shards {
					add()
				}
			}
		})
	}
}

// keepStack makes sure that the stack of the calling goroutine does not move
// during the test, which would move the goroutine to another lane, perhaps so
// briefly that lanesUsed does not notice. The stack has grown already, and
// without the collector it is not shrunk.
func keepStack(t *testing.T) {
	percent := debug.SetGCPercent(-1)
	t.Cleanup(func() { debug.SetGCPercent(percent) })
	useStack(64)
}

// useStack uses that many KiB of the stack.
func useStack(size int) int {
	var frame [1024]byte
	frame[size] = 1
	if size > 0 {
		return useStack(size-1) + int(frame[size])
	}
	return 0
}

// lateness bounds the number of Gets, one after the other, that hand out an
// item at a place of its shard. Each lane may come to the shard once, and
// leaves it only by taking the last of a group from it. On the way, each other
// shard may hand out a group of items.
func lateness(place, shards, lanes int) int {
	passages := lanes + (place-1+quantum-1)/quantum
	return place + passages*quantum*(shards-1)
}

// lanesUsed counts the lanes that have moved. One goroutine uses one, or
// another if its stack was moved.
func lanesUsed[T comparable](s *Set[T]) int {
	used := 0
	for i := range s.lanes {
		if s.lanes[i].turn.Load() != uint32(i*len(s.shards)/len(s.lanes)) {
			used++
		}
	}
	return max(1, used)
}

// TestLenOfManyShards: each word of ready bits counts for its own shards.
func TestLenOfManyShards(t *testing.T) {
	c := newCheckedSet(t, Config[int]{Shards: 200})
	for item := range 300 {
		c.add(item)
		c.check()
	}
	for c.set.Len() > 0 {
		c.get()
		c.check()
	}
}

// TestLockedShardIsPassedBy: a consumer goes on to the next shard that is not
// in use, and waits for the first if all are.
func TestLockedShardIsPassedBy(t *testing.T) {
	s := newTestSet(t, Config[int]{Shards: 130})
	for item := 0; len(readyShards(s)) < 3; item++ {
		s.Add(item)
	}
	ready := readyShards(s)
	for i := range ready {
		start := ready[i]
		if sh := s.lockReady(start); uint32(sh.number) != start {
			t.Errorf("from %d on, shard %d was locked", start, sh.number)
		}
		if sh := s.lockReady(start); uint32(sh.number) != ready[(i+1)%3] {
			t.Errorf("with shard %d in use, shard %d was locked", start, sh.number)
		}
		s.shard(int(start)).mu.Unlock()
		s.shard(int(ready[(i+1)%3])).mu.Unlock()
	}
	for range ready {
		s.lockReady(0)
	}
	waited := make(chan uint32)
	go func() { waited <- uint32(s.lockReady(ready[1]).number) }()
	s.shard(int(ready[1])).mu.Unlock()
	if number := <-waited; number != ready[1] {
		t.Errorf("with all in use, shard %d was locked, not %d", number, ready[1])
	}
}

func readyShards(s *Set[int]) (numbers []uint32) {
	for i := range s.shards {
		if s.shard(i).ready.fifo.length > 0 {
			numbers = append(numbers, uint32(i))
		}
	}
	return numbers
}

// TestFruitlessAddsYield: a producer yields its processor when its adds change
// nothing while a woken consumer has not run yet. It does not if there is no
// such consumer, or if an item was handed out in between.
func TestFruitlessAddsYield(t *testing.T) {
	s := newTestSet(t, Config[int]{Shards: 4})
	duplicate := func(n int) (asked int) {
		for range n {
			hash := s.hash(1)
			sh := s.shardOf(1)
			if sh.addItem(1, &address{hash: uint32(hash)}, request{})&yields != 0 && s.parker.wokenPending() {
				asked++
			}
		}
		return asked
	}
	s.Add(1)
	if n := duplicate(10 * duplicatesBeforeYield); n > 0 {
		t.Errorf("asked to yield %d times, with no consumer on its way", n)
	}
	s.parker.searching.Store(true)
	if n := duplicate(10 * duplicatesBeforeYield); n > 0 {
		t.Errorf("asked to yield %d times, for a token that no consumer is parked for", n)
	}
	s.parker.parked.Store(1)
	if n := duplicate(10 * duplicatesBeforeYield); n != 10 {
		t.Errorf("asked to yield %d times in %d adds", n, 10*duplicatesBeforeYield)
	}
	for range 10 {
		duplicate(1)
		s.Get()
		s.Done(1)
		s.Add(1)
		if n := duplicate(duplicatesBeforeYield - 1); n > 0 {
			t.Error("asked to yield although items are handed out")
		}
	}
	s.parker.searching.Store(false)
	s.parker.parked.Store(0)
}

// TestBurstLeavesNothing: after a burst a shard has no more storage than a new
// one (C8).
func TestBurstLeavesNothing(t *testing.T) {
	c := newCheckedSet(t, Config[int]{Shards: 2})
	for item := range 3000 {
		c.addAfter(item, time.Duration(1+item)*time.Millisecond)
	}
	c.step(time.Hour)
	for range 3000 {
		c.get()
	}
	c.doneSome(1)
	c.check()
	for i := range c.set.shards {
		if sh := c.set.shard(i); sh.table != nil || sh.wheel != nil {
			t.Errorf("shard %d keeps its table, %v, or its wheel, %v", i, sh.table != nil, sh.wheel != nil)
		}
	}
	c.addAfter(1, time.Second)
	c.check()
	c.drainAll()
}

// TestSteadyCycleAllocatesNothing: Add, Get, Done, and a delay that expires.
func TestSteadyCycleAllocatesNothing(t *testing.T) {
	c := newCheckedSet(t, Config[int]{Shards: 4})
	for item := range 300 {
		c.set.Add(item)
	}
	cycle := func() {
		item, _ := c.set.Get()
		c.set.Add(item)
		c.set.Done(item)
	}
	if n := testing.AllocsPerRun(2000, cycle); n > 0 {
		t.Errorf("Get, Add and Done allocate %v times", n)
	}
	delayed := func() {
		item, _ := c.set.Get()
		c.set.Done(item)
		c.set.AddAfter(item, time.Millisecond)
		c.clock.Step(2 * time.Millisecond)
	}
	for range 5000 { // through all slots of two levels of the wheel
		delayed()
	}
	if n := testing.AllocsPerRun(2000, delayed); n > 0 {
		t.Errorf("a delay allocates %v times", n)
	}
}
