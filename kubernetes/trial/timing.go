package main

import (
	"slices"
	"sync"
	"time"
)

// A timing sums up durations.
type timing struct {
	Count            int
	Median, P99, Max time.Duration
}

func timingOf(all []time.Duration) timing {
	if len(all) == 0 {
		return timing{}
	}
	slices.Sort(all)
	return timing{len(all), all[len(all)/2], all[len(all)*99/100], all[len(all)-1]}
}

// timings collects durations.
type timings struct {
	mu  sync.Mutex
	all []time.Duration
}

func (t *timings) add(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, d)
}

func (t *timings) timing() timing {
	t.mu.Lock()
	defer t.mu.Unlock()
	return timingOf(t.all)
}
