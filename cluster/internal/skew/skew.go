// Package skew compares the clocks of servers, by the times in their answers.
package skew

import (
	"sync"
	"time"
)

// Clocks has the clocks of servers. All methods are safe for concurrent use.
type Clocks struct {
	begin time.Time // with the monotonic clock: that of the day may jump

	mu  sync.Mutex
	all map[string]clock
}

// A clock is ahead of the local one by a duration between least and most.
type clock struct {
	least, most time.Duration
	seen        time.Duration // since begin
}

// forget is how long an answer counts: clocks are mended, and drift.
const forget = 2 * time.Minute

func New() *Clocks { return &Clocks{begin: time.Now(), all: map[string]clock{}} }

// Now returns a time for Saw.
func (c *Clocks) Now() time.Duration { return time.Since(c.begin) }

// Saw notes that an answer of server bears the time at. asked and received are
// the local times of the request and of the answer.
func (c *Clocks) Saw(server string, at time.Time, asked, received time.Duration) {
	ahead := at.Sub(c.begin)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[server] = clock{ahead - received, ahead - asked, received}
}

// A Skew is how much the clocks of two servers differ at least.
type Skew struct {
	By            time.Duration
	Ahead, Behind string // the servers, or empty if By is zero
}

// Greatest returns the greatest skew.
func (c *Clocks) Greatest() (s Skew) {
	now := c.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for ahead, a := range c.all {
		for behind, b := range c.all {
			recent := now-a.seen < forget && now-b.seen < forget
			if by := a.least - b.most; recent && by > s.By {
				s = Skew{by, ahead, behind}
			}
		}
	}
	return s
}
