package workload

import (
	"testing"
	"time"
)

// A Stopwatch adds up the processor time of the process.
type Stopwatch struct{ started, used time.Duration }

func (s *Stopwatch) Start() { s.started = processorTime() }
func (s *Stopwatch) Stop()  { s.used += processorTime() - s.started }

// Report reports the processor time of an operation, if the system tells it.
func (s *Stopwatch) Report(b *testing.B, operations int) {
	if s.used > 0 {
		b.ReportMetric(float64(s.used.Nanoseconds())/float64(operations), "cpu-ns/op")
	}
}
