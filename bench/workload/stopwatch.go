package workload

import "time"

// A Stopwatch adds up the processor time of the process, where the system tells it.
type Stopwatch struct{ started, used time.Duration }

func (s *Stopwatch) Start()              { s.started = processorTime() }
func (s *Stopwatch) Stop()               { s.used += processorTime() - s.started }
func (s *Stopwatch) Used() time.Duration { return s.used }
