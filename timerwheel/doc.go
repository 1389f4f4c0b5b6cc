// Package timerwheel implements a hierarchical timer wheel as a pure data
// structure. A [Wheel] holds deadlines and reports which have passed. It has no
// goroutine, no clock and no lock. Its caller passes in the time and serializes
// access. Scheduling, moving and canceling a timer take constant time. A timer
// needs 16 bytes without pointers, so the garbage collector never scans it.
//
// The wheel counts time in ticks, of any unit and from any origin, over the
// whole range of uint64. A timer is never due a tick early.
//
// The wheel has levels of 64 slots. A slot of level l is 64^l ticks wide. The
// highest base-64 digit in which a deadline differs from the current tick
// determines its place:
//
//	level = (63 - LeadingZeros64((now ^ deadline) | 63)) / 6
//	slot  = digit number `level` of the deadline
//
// When the current tick enters a slot of a higher level, the wheel sorts its
// timers into finer slots (G. Varghese and T. Lauck, "Hashed and Hierarchical
// Timing Wheels", SOSP 1987), with the digit arithmetic of tokio's timer. Each
// level has a word of occupied slots: the wheel never steps through empty ones,
// and an idle wheel needs no wake-up.
package timerwheel
