package debugpage

import (
	"cmp"
	"math"
	"time"
)

// A health is what the attempts of a queue say of it, the best first.
type health int

const (
	sound      health = iota
	failsOften        // half of the attempts of the window, or more
	isDown            // all attempts, for longer than chance explains
)

const (
	enterAfter   = 5 * time.Second  // that the readings are worse than the health
	leaveAfter   = 15 * time.Second // that they are better
	outageRun    = 5                // failures without a success
	unlikely     = 1e-3             // runs of failures to be expected in the window
	fewAttempts  = 10               // do not tell their share of failures
	failingShare = 0.5
)

// A condition is a health with the time since which all readings are on one
// side of it.
type condition struct {
	health
	side  int // 1 if the readings are worse than the health, -1 if they are better
	since time.Time
}

// transitions are the times after which a health becomes another.
var transitions = [3][3]time.Duration{
	sound:      {failsOften: enterAfter, isDown: enterAfter},
	failsOften: {sound: leaveAfter, isDown: enterAfter},
	isDown:     {sound: leaveAfter, failsOften: leaveAfter},
}

// next returns the condition after a reading. A queue that was read for less
// than the time to enter has the health of its last reading.
func (c condition) next(read health, now time.Time, known time.Duration) condition {
	side := cmp.Compare(read, c.health)
	switch {
	case known < enterAfter:
		return condition{health: read}
	case side != c.side:
		return condition{c.health, side, now}
	case side != 0 && now.Sub(c.since) >= transitions[c.health][read]:
		return condition{health: read}
	}
	return c
}

// reads returns the health that the samples of a window show, without regard
// to earlier ones.
func (c course) reads() health {
	switch now := c.now(); {
	case now.run >= outageRun && !c.byChance():
		return isDown
	case c.failing() >= failingShare:
		return failsOften
	}
	return sound
}

func (c course) health() health { return c.now().condition.health }

// byChance reports whether the attempts before the last run of failures explain
// it: with their share of failures, such a run is to be expected in the window.
// Without metrics, runs that end explain the next.
func (c course) byChance() bool {
	now, first := c.now(), c[0]
	if now.attempts == 0 {
		return len(c) > 1 && now.outages > first.outages+1
	}
	tries, run := float64(now.attempts-first.attempts), float64(now.run)
	if tries < run+fewAttempts || first.ownLoop || now.failed < first.failed {
		first = sample{} // all attempts of the queue tell more
	}
	before, failed := float64(now.attempts-first.attempts)-run, float64(now.failed-first.failed)-run
	if before <= failed {
		return false // there was no success
	}
	return max(tries, run)*math.Pow((max(failed, 0)+1)/(before+2), run) >= unlikely
}
