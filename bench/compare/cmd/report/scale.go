package main

import "time"

// scale is the amount of work for a report.
type scale struct {
	quick  bool
	rounds int

	cycles      int           // items of a serial cycle
	trafficTime time.Duration // for each measurement of traffic
	trafficKeys []int
	reschedules int
	beside      []int // numbers of delayed items
	delayed     int   // items of the delayed cycle
	lateItems   int
	lateWithin  time.Duration
	timers      []int
	limiterRuns int
	memoryItems []int
	collections int
	orderItems  int
}

func chooseScale(quick bool, rounds int) scale {
	s := fullScale
	if quick {
		s = quickScale
	}
	if rounds > 0 {
		s.rounds = rounds
	}
	return s
}

var fullScale = scale{
	rounds:      10,
	cycles:      1_000_000,
	trafficTime: 400 * time.Millisecond,
	trafficKeys: []int{1 << 16, 1_000_000},
	reschedules: 500_000,
	beside:      []int{0, 1000, 10_000, 100_000, 1_000_000},
	delayed:     500_000,
	lateItems:   10_000,
	lateWithin:  time.Second,
	timers:      []int{1 << 10, 1 << 20},
	limiterRuns: 1_000_000,
	memoryItems: []int{1_000_000, 10_000_000},
	collections: 5,
	orderItems:  200_000,
}

var quickScale = scale{
	quick:       true,
	rounds:      2,
	cycles:      10_000,
	trafficTime: 10 * time.Millisecond,
	trafficKeys: []int{1 << 13},
	reschedules: 10_000,
	beside:      []int{0, 10_000},
	delayed:     10_000,
	lateItems:   500,
	lateWithin:  50 * time.Millisecond,
	timers:      []int{1 << 10},
	limiterRuns: 10_000,
	memoryItems: []int{20_000},
	collections: 2,
	orderItems:  10_000,
}
