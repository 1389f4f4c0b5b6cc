// Package clock is the one place where shardq's packages meet time. Everything
// that waits or measures takes a [Clock], so that a test can step through hours
// in microseconds, and a program can run on a time source of its own.
//
// Production code uses [Real]. Tests either inject a [Fake], or keep the real
// clock and run inside a testing/synctest bubble: both work.
package clock

import "time"

// A Clock tells the time and calls functions later. Implementations must be
// safe for concurrent use. shardq never calls a Clock while it holds a lock. The
// ShutDown of a queue waits for a call of its Clock that is under way, so no method
// of a Clock or of a [Timer] may call ShutDown, or wait for somebody who does.
//
// A Clock may jump backward or forward: deadlines are points on the Clock's own
// axis, so a deadline of 12:00 passes when the Clock says 12:00, whatever way it
// took to get there.
type Clock interface {
	// Now returns the present time.
	Now() time.Time
	// AfterFunc calls f once, d from now, from any goroutine. A d of zero or
	// less calls f as soon as possible. It may call f before it returns, and
	// so may the Reset of its Timer. f does not block for long, unless a hook
	// of the user's does that it calls, such as a queue's OnStuck.
	AfterFunc(d time.Duration, f func()) Timer
}

// A Timer is a pending call that [Clock].AfterFunc arranged.
// [*time.Timer], as [time.AfterFunc] returns it, is one.
type Timer interface {
	// Stop prevents the call; it reports whether it was still to come.
	Stop() bool
	// Reset makes the call come d from now, whether or not it has already come
	// once; it reports whether it was still to come.
	Reset(d time.Duration) bool
}

// Real returns the clock of package time. Its readings carry the monotonic
// clock, so a change of the wall clock does not move deadlines.
func Real() Clock { return realClock{} }

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
