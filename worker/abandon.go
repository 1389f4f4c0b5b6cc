package worker

import (
	"time"

	"github.com/shardq/shardq/internal/foreach"
)

// noting returns a show that also notes when a handler begins and has ended.
func (w *worker[T]) noting(show func(items []T)) func(items []T) {
	return func(items []T) {
		defer w.note(len(items) > 0) // also if show panics
		if show != nil {
			show(items)
		}
	}
}

// note ends the claims of a handler that Run has abandoned. Without them, what
// it has returned changes nothing.
func (w *worker[T]) note(begins bool) {
	if w.seat.note(begins) {
		w.endAbandoned(w.buffer())
	}
}

// note reports whether Run has abandoned the handler that has ended.
func (s *seat) note(begins bool) (abandoned bool) {
	s.crew.mu.Lock()
	defer s.crew.mu.Unlock()
	_, mine := s.crew.handling[s]
	if delete(s.crew.handling, s); begins {
		s.crew.handling[s] = time.Now()
		s.crew.reportLeftLocked()
	}
	return !begins && !mine
}

// endAbandoned ends the processing of items that Run's error has named. After a
// drain, the error alone has them: a value that went back would be in two places.
func (w *worker[T]) endAbandoned(claims []Claim[T]) {
	if !w.seat.crew.drains {
		w.releaseAll(claims)
		return
	}
	defer clear(claims)
	foreach.Do(len(claims), func(i int) { _ = claims[i].Done() })
}

// abandonLocked takes no time of the stopwatch, which the handler's end stops
// without the lock.
func (w *worker[T]) abandonLocked(took time.Duration) {
	for _, claim := range w.buffer() {
		if claim.owner != nil {
			f := &failed[T]{claim: claim, pool: w.pool}
			f.attempt = attempt{crew: &w.pool.crew, of: f, took: took}
			w.pool.abandoned = append(w.pool.abandoned, f)
		}
	}
}

// describeAbandoned is called without the lock, because it asks the owner.
func (a *attempt) describeAbandoned() {
	a.failure = failure{
		queue: a.crew.name, err: errAbandoned, reason: ReasonAbandoned, duration: a.took, attempt: a.of.failures() + 1,
	}
	if a.failure.attempt > 1 {
		a.failure.firstFailure, _, _ = a.of.failingSince()
	}
}
