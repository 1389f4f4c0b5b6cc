package worker

import "time"

// A stopwatch measures the attempts of a worker, in real time. It reads the
// clock only if a hook or the owner of a claim needs durations.
type stopwatch struct {
	runs  bool
	began time.Time
	took  time.Duration
}

// start is called before the handler.
func (s *stopwatch) start() {
	if s.runs {
		s.began = time.Now()
	}
}

// stop is called when the handler has ended, also if it has panicked.
func (s *stopwatch) stop() {
	if s.runs {
		s.took = time.Since(s.began)
	}
}

// needsDurations reports whether anything reads the duration of an attempt.
func (o *Options[T]) needsDurations() bool {
	return o.OnError != nil || o.OnDiscard != nil || o.OnLeftover != nil
}
