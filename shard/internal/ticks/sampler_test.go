package ticks

import (
	"testing"
	"time"
)

// newSampler returns the sampler of a queue with that tick.
func newSampler(tick time.Duration) (c *Sampler) {
	c = &Sampler{}
	c.Init(uint64(tick))
	return c
}

// readMany counts n readings in a tick, and returns the interval of the last.
func (c *Sampler) readMany(n int, tick uint64) (interval uint32) {
	for range n {
		interval = c.Read(tick)
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
			if first, last := c.Read(5), c.readMany(most, 5); first != want || last != want {
				t.Errorf("with a tick of %v, a reading is for %d items, and then %d, not %d", tick, first, last, want)
			}
		}
		if interval := c.readMany(10*most, 5); interval != longestInterval {
			t.Errorf("with a tick of %v, a reading is for %d items at last", tick, interval)
		}
	}
}
