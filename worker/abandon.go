package worker

import (
	"time"

	"github.com/shardq/shardq/internal/foreach"
)

// note notes that a handler begins, or has ended. It ends the claims of a handler
// that Run has abandoned. Without them, what it has returned changes nothing.
func (s *seat) note(begins bool) {
	s.crew.mu.Lock()
	_, mine := s.crew.handling[s]
	if delete(s.crew.handling, s); begins {
		s.crew.handling[s] = time.Now()
		s.crew.reportLeftLocked()
	}
	s.crew.mu.Unlock()
	if abandoned := !begins && !mine; abandoned {
		s.endAbandoned()
	}
}

// endAbandoned ends the processing of items that Run's error has named. After a
// drain, the error alone has them: a value that went back would be in two places.
func (s *seat) endAbandoned() {
	s.abandoned = true
	if !s.crew.drains {
		s.release(0, s.n)
		return
	}
	defer s.worker.clear(0, s.n)
	foreach.Do(s.n, func(i int) { _ = s.worker.leave(i) })
}

// nameAbandoned is called without the lock, because it asks the owner. An item
// that the worker held for a next batch is ready again.
func (c *crew) nameAbandoned(i int) {
	a := c.abandoned[i]
	if a.interrupted {
		c.ended(a.of.giveBack(Return{Reason: ReturnRelease}))
		return
	}
	a.failure = failure{queue: c.name, err: errAbandoned, reason: ReasonAbandoned, duration: a.took}
	defer a.of.call(keeps, &a.failure) // also if the limiter or the clock panics
	a.failure.attempt = a.of.failures() + 1
	if a.failure.attempt > 1 {
		a.failure.firstFailure, _, _ = a.of.failingSince()
	}
}
