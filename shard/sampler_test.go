package shard

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/shardq/shardq/clock"
)

// newSampler returns the sampler of a queue with that tick.
func newSampler(tick time.Duration) (c *sampler) {
	c = &sampler{}
	c.init(uint64(tick))
	return c
}

// readMany counts n readings in a tick, and returns the interval of the last.
func (c *sampler) readMany(n int, tick uint64) (interval uint32) {
	for range n {
		interval = c.read(tick)
	}
	return interval
}

// TestSamplerBoundsTheReadings: up to a bound, operations read for themselves.
// The more readings there are in one tick, the rarer they become, up to a
// bound.
func TestSamplerBoundsTheReadings(t *testing.T) {
	for _, tick := range []time.Duration{1, time.Microsecond, time.Millisecond, 7 * time.Millisecond} {
		c := newSampler(tick)
		alone := max(1, mostAlone*int(tick)/int(time.Millisecond))
		if interval := c.readMany(alone+1, 5); interval != 0 {
			t.Errorf("with a tick of %v, the first %d readings are for %d items each", tick, alone+1, interval)
		}
		most := max(1, mostShared*int(tick)/int(time.Millisecond))
		for want := uint32(1); want <= longestInterval; want *= 2 {
			if first, last := c.read(5), c.readMany(most, 5); first != want || last != want {
				t.Errorf("with a tick of %v, a reading is for %d items, and then %d, not %d", tick, first, last, want)
			}
		}
		if interval := c.readMany(10*most, 5); interval != longestInterval {
			t.Errorf("with a tick of %v, a reading is for %d items at last", tick, interval)
		}
	}
}

// TestSamplerInLongTicks: however long the tick is, there is a bound.
func TestSamplerInLongTicks(t *testing.T) {
	for _, tick := range []time.Duration{time.Second, time.Hour, math.MaxInt64} {
		c := newSampler(tick)
		want := uint32(min(mostAlone*float64(tick)/1e6, 1<<30))
		if c.alone != want || c.shared != uint32(min(mostShared*float64(tick)/1e6, 1<<30)) {
			t.Errorf("in a tick of %v there may be %d readings, or %d that are shared", tick, c.alone, c.shared)
		}
		c.read(1)
		c.readings.Store(want)
		if c.read(1) != 0 || c.read(1) != 1 {
			t.Errorf("in a tick of %v, not reading %d is the first that is shared", tick, want+2)
		}
	}
}

// TestSamplerRelaxes: in the tick after one with few readings, each is for half
// as many operations. After one with many, it is for as many as before.
func TestSamplerRelaxes(t *testing.T) {
	c := newSampler(time.Millisecond)
	if c.readMany(mostAlone+1+4*(mostShared+1), 1) != 8 {
		t.Fatalf("the interval is %d", c.interval.Load())
	}
	for tick, step := range []struct {
		n    int
		want uint32
	}{{mostShared / 4, 8}, {mostShared / 4, 8}, {mostShared/4 - 1, 8}, {1, 4}, {1, 2}, {mostShared / 4, 1}, {1, 1}, {1, 0}, {1, 0}} {
		if got := c.readMany(step.n, uint64(tick)+2); got != step.want {
			t.Errorf("in tick %d, a reading is for %d items, not %d", tick+2, got, step.want)
		}
	}
}

// TestSamplerRelaxesAfterAPause: after a tick without any reading, or if the
// clock was set back, each operation reads the clock.
func TestSamplerRelaxesAfterAPause(t *testing.T) {
	for _, next := range []uint64{102, 1000, 99, 1} {
		c := newSampler(time.Millisecond)
		if c.readMany(10*mostAlone, 100) == 0 || c.read(next) != 0 || c.interval.Load() != 0 {
			t.Errorf("in tick %d after tick 100, a reading is for %d items", next, c.interval.Load())
		}
	}
}

// TestSamplerReadsInTurns: each operation reads the clock until there are too
// many. Then one reads it after some Gets and Dones, in turns. After a pause
// each does again.
func TestSamplerReadsInTurns(t *testing.T) {
	c := newMeddlingClock()
	s := newTestSet(t, Config[int]{Clock: c, Ages: true, Metrics: true})
	readings := func(cycles int) (n int) {
		c.each(beforeNow, func() { n++ })
		defer c.leave(beforeNow)
		for item := range cycles {
			s.Add(item)
			_, _ = s.Get()
			s.Done(item)
		}
		return n
	}
	if n := readings(50); n != 150 {
		t.Errorf("150 operations read the clock %d times", n)
	}
	readings(100_000)
	if interval := s.coarse.sampler.interval.Load(); interval != longestInterval {
		t.Errorf("after very many readings within a tick, one is for %d Gets and Dones", interval)
	}
	const odd = longestInterval + 1
	if n := readings(5 * odd); n != 10 {
		t.Errorf("%d Gets and as many Dones made %d readings", 5*odd, n)
	}
	c.Step(time.Second)
	if n := readings(50); n != 150 {
		t.Errorf("after a pause, 150 operations read the clock %d times", n)
	}
	s.ShutDown()
	if n := c.Timers(); n != 0 {
		t.Errorf("%d timers are left", n)
	}
}

// A sampled set has operations that come so fast that they share readings. Its
// clock advances between them, and calls timers in time.
type sampled struct {
	*Set[int]
	clock *clock.Fake
	// passed is the time that has passed, in that many operations. oldest is
	// the age of the oldest stamp.
	passed     time.Duration
	operations int
	oldest     time.Duration
}

func newSampled(t *testing.T, shards int) *sampled {
	fake := clock.NewFake(start)
	return &sampled{Set: newTestSet(t, Config[int]{Shards: shards, Clock: fake, Ages: true, Metrics: true}), clock: fake}
}

// pass lets time pass, and then an operation happen.
func (c *sampled) pass(d time.Duration, operation func()) {
	c.clock.Step(d)
	c.passed += d
	operation()
	c.operations++
	c.oldest = max(c.oldest, time.Duration(c.time.nanoseconds()-c.coarse.now.Load()))
}

// apart returns the mean time between operations.
func (c *sampled) apart() time.Duration { return c.passed / time.Duration(c.operations) }

// checkStamps checks that readings were shared, and that no stamp was older
// than a tick.
func (c *sampled) checkStamps(t *testing.T) {
	t.Helper()
	if c.coarse.sampler.interval.Load() == 0 || c.oldest == 0 {
		t.Error("no readings were shared")
	}
	if c.oldest > time.Millisecond {
		t.Errorf("a stamp was %v old, more than a tick", c.oldest)
	}
}

func checkMean(t *testing.T, what string, got, want, most time.Duration) {
	t.Helper()
	if off := got - want; off < -most || off > most {
		t.Errorf("the mean of %s is %v, not %v: off by more than %v", what, got, want, most)
	}
}

// TestStampsOfAPipeline: where items are queued, and in processing, for the
// time of many operations, the means are right to 2 %.
func TestStampsOfAPipeline(t *testing.T) {
	for _, shards := range []int{1, 32} {
		const cycles, ready, inHand = 50_000, 500, 200
		c, random := newSampled(t, shards), rand.New(rand.NewPCG(5, 6))
		added, taken := map[int]time.Duration{}, map[int]time.Duration{}
		var queued, worked time.Duration
		var held []int
		for item := range cycles {
			step := func() time.Duration { return time.Duration(random.ExpFloat64() * 300) }
			c.pass(step(), func() { c.Add(item) })
			added[item] = c.passed
			if item < ready {
				continue
			}
			c.pass(step(), func() { got, _ := c.Get(); held = append(held, got) })
			last := held[len(held)-1]
			taken[last] = c.passed
			queued += c.passed - added[last]
			if len(held) > inHand {
				c.pass(step(), func() { c.Done(held[0]) })
				worked += c.passed - taken[held[0]]
				held = held[1:]
			}
		}
		m := c.Stats().Metrics
		wantQueued, wantWorked := queued/time.Duration(m.QueueDuration.Count), worked/time.Duration(m.WorkDuration.Count)
		checkMean(t, "the time in the queue", m.QueueDuration.Mean(), wantQueued, wantQueued/50)
		checkMean(t, "the time in processing", m.WorkDuration.Mean(), wantWorked, wantWorked/50)
		c.checkStamps(t)
		c.ShutDown()
	}
}

// TestStampsOfOneGoroutine: durations are as short as the time between two
// operations. Their means are right to the time of a cycle, and no better: the
// operation after a hand-out reads the clock, and all the time seems to have
// passed just before it.
func TestStampsOfOneGoroutine(t *testing.T) {
	for _, steps := range [][3]time.Duration{{0, 400, 200}, {0, 0, 3000}, {0, 2000, 0}, {1500, 0, 0}, {300, 300, 300}} {
		c := newSampled(t, 4)
		for item := range 50_000 {
			c.pass(steps[0], func() { c.Add(item) })
			c.pass(steps[1], func() { _, _ = c.Get() })
			c.pass(steps[2], func() { c.Done(item) })
		}
		m := c.Stats().Metrics
		checkMean(t, "the time in the queue", m.QueueDuration.Mean(), steps[1], 3*c.apart())
		checkMean(t, "the time in processing", m.WorkDuration.Mean(), steps[2], 3*c.apart())
		c.checkStamps(t)
		c.ShutDown()
	}
}

// TestStampsOfAdds: where nothing is handed out, the clock is read at least
// once in a tick.
func TestStampsOfAdds(t *testing.T) {
	c := newSampled(t, 1)
	for item := range 50_000 {
		c.pass(100*time.Nanosecond, func() { c.Add(item) })
	}
	if c.oldest == 0 || c.oldest > time.Millisecond {
		t.Errorf("the oldest stamp was %v old", c.oldest)
	}
	c.ShutDown()
}

// TestStampsWhenOperationsStop: operations stop at once. An operation within
// the tick finds a reading that is at most as old as the tick, and one after it
// reads again.
func TestStampsWhenOperationsStop(t *testing.T) {
	fake := clock.NewFake(start)
	s := newTestSet(t, Config[int]{Clock: fake, Ages: true, Metrics: true})
	for item := range 10 * mostAlone {
		s.Add(item)
	}
	if s.coarse.live.Load() == 0 {
		s.Add(-1) // the last has ended the turn of a reading
	}
	before := s.coarse.now.Load()
	fake.Step(time.Millisecond - 1)
	s.Add(-2)
	if now := s.coarse.now.Load(); now != before {
		t.Error("within the tick, the clock was read for one operation")
	}
	fake.Step(1)
	if s.coarse.live.Load() != 0 {
		t.Error("the driver did not end the tick")
	}
	fake.Step(time.Hour / 2)
	s.Add(-3)
	if now := s.coarse.now.Load(); now != s.time.nanoseconds() {
		t.Errorf("after a pause, a stamp is %v old", time.Duration(s.time.nanoseconds()-now))
	}
	s.ShutDown()
}
