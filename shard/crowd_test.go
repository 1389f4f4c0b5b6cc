package shard

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/shardq/shardq/clock"
)

// newCrowd returns the crowd of a queue with such a tick.
func newCrowd(tick time.Duration) (c *crowd) {
	c = &crowd{}
	c.init(uint64(tick))
	return c
}

// readMany counts so many readings in a tick, and returns the interval of the last.
func (c *crowd) readMany(n int, tick uint64) (interval uint32) {
	for range n {
		interval = c.read(tick)
	}
	return interval
}

// TestCrowdBoundsTheReadings: as many as the bound read for themselves; the more there are in
// one tick, the rarer they become, up to a bound.
func TestCrowdBoundsTheReadings(t *testing.T) {
	for _, tick := range []time.Duration{1, time.Microsecond, time.Millisecond, 7 * time.Millisecond} {
		c := newCrowd(tick)
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

// TestCrowdInLongTicks: however long the tick is, there is a bound.
func TestCrowdInLongTicks(t *testing.T) {
	for _, tick := range []time.Duration{time.Second, time.Hour, math.MaxInt64} {
		c := newCrowd(tick)
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

// TestCrowdGoes: in the tick after one with few readings, each is for half as many items, and
// where they are many, for as many as before.
func TestCrowdGoes(t *testing.T) {
	c := newCrowd(time.Millisecond)
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

// TestCrowdIsGoneAfterAPause: a tick without any reading; and so it is if the clock was set back.
func TestCrowdIsGoneAfterAPause(t *testing.T) {
	for _, next := range []uint64{102, 1000, 99, 1} {
		c := newCrowd(time.Millisecond)
		if c.readMany(10*mostAlone, 100) == 0 || c.read(next) != 0 || c.interval.Load() != 0 {
			t.Errorf("in tick %d after tick 100, a reading is for %d items", next, c.interval.Load())
		}
	}
}

// TestCrowdReadsInTurns: the clock is read by each operation, until there are too many; then
// by one after some Gets and Dones, in turns; and by each after a pause.
func TestCrowdReadsInTurns(t *testing.T) {
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
	if interval := s.pulse.crowd.interval.Load(); interval != longestInterval {
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

// A crowded set is one whose operations come so fast that the readings are shared, on a clock
// that advances between them, and whose timers are called in time.
type crowded struct {
	*Set[int]
	clock *clock.Fake
	// passed is the time that has passed, in so many operations; oldest is the age of the
	// oldest stamp.
	passed     time.Duration
	operations int
	oldest     time.Duration
}

func newCrowded(t *testing.T, shards int) *crowded {
	fake := clock.NewFake(start)
	return &crowded{Set: newTestSet(t, Config[int]{Shards: shards, Clock: fake, Ages: true, Metrics: true}), clock: fake}
}

// pass lets time pass, and then an operation happen.
func (c *crowded) pass(d time.Duration, operation func()) {
	c.clock.Step(d)
	c.passed += d
	operation()
	c.operations++
	c.oldest = max(c.oldest, time.Duration(c.time.nanoseconds()-c.pulse.now.Load()))
}

// apart returns how far apart the operations are in the mean.
func (c *crowded) apart() time.Duration { return c.passed / time.Duration(c.operations) }

// checkStamps checks that readings were shared, and that no stamp was older than a tick.
func (c *crowded) checkStamps(t *testing.T) {
	t.Helper()
	if c.pulse.crowd.interval.Load() == 0 || c.oldest == 0 {
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

// TestStampsOfAPipeline: where items are queued, and in processing, for as long as many
// operations take, the means are right to 2 %.
func TestStampsOfAPipeline(t *testing.T) {
	for _, shards := range []int{1, 32} {
		const cycles, ready, inHand = 50_000, 500, 200
		c, random := newCrowded(t, shards), rand.New(rand.NewPCG(5, 6))
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

// TestStampsOfOneGoroutine: of durations that are as short as the time between two
// operations, the means are right to the time that a cycle takes, and no better: it is the
// operation behind a hand-out that reads the clock, and all the time seems to have passed
// just before it.
func TestStampsOfOneGoroutine(t *testing.T) {
	for _, steps := range [][3]time.Duration{{0, 400, 200}, {0, 0, 3000}, {0, 2000, 0}, {1500, 0, 0}, {300, 300, 300}} {
		c := newCrowded(t, 4)
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

// TestStampsOfAdds: where nothing is handed out, the clock is read once in a tick at the least.
func TestStampsOfAdds(t *testing.T) {
	c := newCrowded(t, 1)
	for item := range 50_000 {
		c.pass(100*time.Nanosecond, func() { c.Add(item) })
	}
	if c.oldest == 0 || c.oldest > time.Millisecond {
		t.Errorf("the oldest stamp was %v old", c.oldest)
	}
	c.ShutDown()
}

// TestStampsWhenACrowdStops: at once, with nothing after it: what then comes within the tick
// finds a reading of its beginning at the oldest, and what comes after it reads anew.
func TestStampsWhenACrowdStops(t *testing.T) {
	fake := clock.NewFake(start)
	s := newTestSet(t, Config[int]{Clock: fake, Ages: true, Metrics: true})
	for item := range 10 * mostAlone {
		s.Add(item)
	}
	if s.pulse.live.Load() == 0 {
		s.Add(-1) // the last has ended the turn of a reading
	}
	before := s.pulse.now.Load()
	fake.Step(time.Millisecond - 1)
	s.Add(-2)
	if now := s.pulse.now.Load(); now != before {
		t.Error("within the tick, the clock was read for one operation")
	}
	fake.Step(1)
	if s.pulse.live.Load() != 0 {
		t.Error("nobody said that the tick has passed")
	}
	fake.Step(time.Hour / 2)
	s.Add(-3)
	if now := s.pulse.now.Load(); now != s.time.nanoseconds() {
		t.Errorf("after a pause, a stamp is %v old", time.Duration(s.time.nanoseconds()-now))
	}
	s.ShutDown()
}
