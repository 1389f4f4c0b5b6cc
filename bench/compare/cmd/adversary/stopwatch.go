package main

import "time"

// stopwatch measures the times of consecutive steps.
type stopwatch struct {
	now  func() time.Duration
	last time.Duration
}

// startWatch starts a stopwatch for the elapsed time.
func startWatch() stopwatch { return stopwatch{sinceBeginning, sinceBeginning()} }

// startThreadWatch starts a stopwatch for the processor time of the calling
// thread.
func startThreadWatch() stopwatch { return stopwatch{threadTime, threadTime()} }

// lap returns the time since the last lap.
func (s *stopwatch) lap() time.Duration {
	now := s.now()
	elapsed := now - s.last
	s.last = now
	return elapsed
}

var beginning = time.Now()

// sinceBeginning costs less than time.Now.
func sinceBeginning() time.Duration { return time.Since(beginning) }
