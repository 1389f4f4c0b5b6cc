package shard

import (
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

// TestStampsWhenOperationsStop: operations stop at once. An operation within
// the tick finds a reading that is at most as old as the tick, and one after it
// reads again.
func TestStampsWhenOperationsStop(t *testing.T) {
	fake := clock.NewFake(start)
	s := newTestSet(t, Config[int]{Clock: fake, Ages: true, Metrics: true})
	for item := range 10 * mostAlone {
		s.Add(item)
	}
	if s.Core.coarse.live.Load() == 0 {
		s.Add(-1) // the last has ended the turn of a reading
	}
	before := s.Core.coarse.now.Load()
	fake.Step(time.Millisecond - 1)
	s.Add(-2)
	if now := s.Core.coarse.now.Load(); now != before {
		t.Error("within the tick, the clock was read for one operation")
	}
	fake.Step(1)
	if s.Core.coarse.live.Load() != 0 {
		t.Error("the driver did not end the tick")
	}
	fake.Step(time.Hour / 2)
	s.Add(-3)
	if now := s.Core.coarse.now.Load(); now != s.Core.time.nanoseconds() {
		t.Errorf("after a pause, a stamp is %v old", time.Duration(s.Core.time.nanoseconds()-now))
	}
	s.Core.ShutDown()
}
