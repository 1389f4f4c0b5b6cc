package harness

import (
	"math"
	"sync/atomic"
	"time"
)

// Pauses of groups and of the queue (C68, C69). A Get that is called after the
// return of PauseGroup, and returns before the pause ends, returns no item of
// the group. The actor in gatekeeper.go pauses and resumes.

// wholeQueue is the target of what is not about one of the groups.
const wholeQueue = mostGroups

// targets is the number of things that can be paused, or have a rate.
const targets = mostGroups + 1

// A stop is a pause that surely holds.
type stop struct {
	since int64 // the stamp after the call
	until int64 // the ledger's time at which it may end
}

// untilResumed is the end of a stop that only a call ends.
const untilResumed = math.MaxInt64

// stops are the pauses that surely hold. The actor enters a stop after its
// call, and removes it before the call that ends it.
type stops [targets]atomic.Pointer[stop]

// checkStopped is called after a Get, with the stamp of its call.
func (l *ledger) checkStopped(key int, called int64) {
	if l.gates == nil {
		return
	}
	clause := [targets]string{wholeQueue: "C69"}
	for _, target := range l.gates.targetsOf(key) {
		s := l.gates.stops[target].Load()
		if s == nil || called <= s.since || l.time() >= s.until {
			continue
		}
		if clause[target] == "" {
			clause[target] = "C68"
		}
		l.violated.report(clause[target], key, "key %d was handed out by a Get that was called %v after a pause of %s had begun",
			key, time.Duration(called-s.since), nameOfTarget(target))
	}
}

func nameOfTarget(target int) string {
	if target == wholeQueue {
		return "the queue"
	}
	return "group " + groupNames[target]
}
