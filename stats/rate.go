package stats

import (
	"errors"
	"fmt"
	"math"
)

// A Rate limits how many items are handed out. In any t seconds these are at
// most Burst + PerSecond · (t + two of the queue's ticks). The zero Rate is no
// limit.
type Rate struct {
	PerSecond float64
	// Burst items may be handed out at once after a rest. If zero, it is 1.
	// Burst divided by PerSecond must be at most 146 years.
	Burst int
}

// Validate returns one error that names every fault, or nil.
func (r Rate) Validate() error {
	var faults []error
	if !(r.PerSecond >= 0) || math.IsInf(r.PerSecond, 1) {
		faults = append(faults, fmt.Errorf("rate: PerSecond is %v: want a number of 0 (no limit) or more", r.PerSecond))
	}
	switch {
	case r.Burst < 0:
		faults = append(faults, fmt.Errorf("rate: Burst is %d: want 0 (the same as 1) or more", r.Burst))
	case r.Burst > 0 && r.PerSecond == 0:
		faults = append(faults, fmt.Errorf("rate: Burst is %d: want 0 where PerSecond is 0", r.Burst))
	case r.Burst > 1 && float64(r.Burst)/r.PerSecond > 1<<62/1e9: // a bucket counts nanoseconds
		faults = append(faults, fmt.Errorf("rate: Burst is %d, at %v a second: want what comes in 146 years", r.Burst, r.PerSecond))
	}
	return errors.Join(faults...)
}

// A GroupPolicy says how the items of a group are handed out.
type GroupPolicy struct {
	// Weight is how many items the group hands out in its turn, at most
	// 1,048,576. If zero or negative, it is 1.
	Weight int
	// Limit limits the items of the group that are in processing at once. If
	// zero or negative, there is no limit.
	Limit int
	// Rate limits how many items of the group are handed out in a time, in the
	// whole queue.
	Rate Rate
}

// A Throttling is the reason why a group is throttled.
type Throttling uint8

const (
	NotThrottled     Throttling = iota // it has no ready items, or they are handed out
	ThrottledByLimit                   // its limit of items in processing is reached
	ThrottledByRate                    // its rate allows no item yet
	ThrottledByPause                   // it is paused
)

// String returns a word for the reason. It is empty for NotThrottled.
func (t Throttling) String() string {
	return [...]string{"", "limit", "rate", "pause"}[min(t, ThrottledByPause)]
}
