// Package clock defines the source of time of shardq's packages. Production
// code uses [Real]. Tests either pass a [Fake], or use the real clock inside a
// testing/synctest bubble.
package clock

import "time"

// A Clock returns the time and calls functions later. It must be safe for
// concurrent use, and may jump: a deadline of 12:00 passes when the Clock reads
// 12:00, however it got there.
//
// shardq never calls a Clock while it holds a lock. ShutDown of a queue waits
// for calls of its Clock. So no method of a Clock or of a [Timer] may call
// ShutDown, or wait for a goroutine that does.
type Clock interface {
	// Now returns the current time.
	Now() time.Time
	// AfterFunc calls f once, d from now, on any goroutine, or as soon as
	// possible if d is zero or negative. It may call f before it returns, and
	// so may Reset of the Timer. f may call a user's hook, but otherwise does
	// not block for long.
	AfterFunc(d time.Duration, f func()) Timer
}

// A Timer is a call that AfterFunc scheduled. [*time.Timer] implements it.
type Timer interface {
	// Stop prevents the call. It reports whether the call was still pending.
	Stop() bool
	// Reset schedules the call for d from now, whether or not it was made
	// before. It reports whether the call was still pending.
	Reset(d time.Duration) bool
}

// Real returns the clock of package time. Its times carry the monotonic clock,
// so a change of the wall clock does not move deadlines.
func Real() Clock { return realClock{} }

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
