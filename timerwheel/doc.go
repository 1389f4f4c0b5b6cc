// Package timerwheel implements a hierarchical timer wheel as a pure data
// structure. A [Wheel] holds deadlines and reports which have passed. It has no
// goroutine, no clock and no lock. Its caller passes in the time and serializes
// access.
//
// Scheduling, moving and canceling a timer take constant time, for any number
// of timers. A heap takes logarithmic time, and a cache miss per level. A timer
// needs 16 bytes without pointers, so the garbage collector never scans timers.
//
// # Time
//
// The wheel counts time in ticks, of any unit and from any origin, over the
// whole range of uint64. A timer is due when the wheel's time reaches its
// deadline. It is never a tick early, and far deadlines lose no precision. A
// caller that counts nanoseconds in ticks of a millisecond rounds deadlines up
// and the current time down.
//
// # Geometry
//
// The wheel has levels of 64 slots. A slot of level 0 is one tick wide, and a
// slot of level l is 64^l ticks wide. The highest base-64 digit in which a
// deadline differs from the current tick determines its place:
//
//	level = (63 - LeadingZeros64((now ^ deadline) | 63)) / 6
//	slot  = digit number `level` of the deadline
//
// When the current tick enters a slot of a higher level, the wheel sorts the
// slot's timers into finer slots ("cascade"). This is the scheme of G. Varghese
// and T. Lauck, "Hashed and Hierarchical Timing Wheels" (SOSP 1987), with the
// digit arithmetic of tokio's timer. Linux's current wheel
// (kernel/time/timer.c) does not cascade and fires up to 12.5 % late, which a
// work queue cannot accept.
//
// Each level has one word of occupied slots, so that finding the next deadline
// takes two count-trailing-zeros instructions. The wheel never steps through
// empty slots, and an idle wheel needs no wake-up.
package timerwheel
