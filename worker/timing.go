package worker

import "time"

// A stopwatch measures the attempts of a worker, in real time. It reads the
// clock only if a hook or the owner of a claim needs durations.
type stopwatch struct {
	runs        bool
	began, took time.Duration
}

// origin is the moment from which stopwatches count. A time since a moment is
// half as costly to read as the time of day.
var origin = time.Now()

// start is called before the handler. It reads the clock if runs is true.
func (s *stopwatch) start(runs bool) {
	if s.runs = runs; runs {
		s.began = time.Since(origin)
	}
}

// stop is called when the handler has ended, also if it has panicked.
func (s *stopwatch) stop() {
	if s.runs {
		s.took = time.Since(origin) - s.began
	}
}

// needsDurations reports whether anything reads the duration of an attempt.
func (o *Options[T]) needsDurations() bool {
	return o.OnError != nil || o.OnDiscard != nil || o.OnLeftover != nil
}
