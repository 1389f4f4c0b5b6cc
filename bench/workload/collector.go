package workload

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// A Collection is the cost of one cycle of the garbage collector.
type Collection struct {
	// Elapsed is the time from the start of the cycle to its end.
	Elapsed time.Duration
	// Marking is the processor time of marking, on all cores.
	Marking time.Duration
}

// CollectionWith returns the mean cost of some garbage collections while all
// keys are ready in the queue.
func CollectionWith[T comparable](q Queue[T], keys []T, collections int) Collection {
	AddAll(q, keys)
	runtime.GC() // sweeps what adding left
	before := markingSeconds()
	start := time.Now()
	for range collections {
		runtime.GC()
	}
	elapsed := time.Since(start)
	marking := markingSeconds() - before
	runtime.KeepAlive(q)
	return Collection{
		Elapsed: elapsed / time.Duration(collections),
		Marking: time.Duration(marking / float64(collections) * float64(time.Second)),
	}
}

// markingSeconds returns the processor time of marking since the process began.
func markingSeconds() (seconds float64) {
	samples := []metrics.Sample{
		{Name: "/cpu/classes/gc/mark/assist:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/dedicated:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/idle:cpu-seconds"},
	}
	metrics.Read(samples)
	for _, sample := range samples {
		seconds += sample.Value.Float64()
	}
	return seconds
}
