package ticks

import "sync/atomic"

// A Coarse is a reading of the clock that operations share, to stamp when
// items come into their states: a reading for each operation would make
// an item's cycle half as long again. The first operation of a tick reads, and the driver
// ends the reading with the tick. Metrics need more: see sampler.
type Coarse struct {
	Now        atomic.Uint64 // the start of the tick, or, with metrics, the moment itself
	Live       atomic.Uint64 // the tick of the reading while the driver holds it current, or 0
	Sampler    Sampler
	KeepsWaits atomic.Bool // see Set.KeepWaits
	_          [64 - 16 - 32 - 4]byte
}

func (c *Coarse) Deadline() uint64 {
	if live := c.Live.Load(); live != 0 {
		return live + 1
	}
	return Never
}

func (c *Coarse) NeedsReading() bool { return c.Live.Load() == 0 || c.Sampler.Interval.Load() == 1 }

func (c *Coarse) Invalidate() {
	if c.Live.Load() != 0 { // spare the store if each operation reads the clock anyway
		c.Live.Store(0)
	}
}

func (c *Coarse) Update(before, now, tick uint64) {
	c.Now.CompareAndSwap(before, now)
	if live := c.Live.Load(); live != 0 && live != tick { // or the clock was set back
		c.Live.CompareAndSwap(live, 0) // unless an operation has read the clock since
	}
}
