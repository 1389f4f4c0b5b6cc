// Package timerwheel is a hierarchical timer wheel as a pure data structure: it
// holds deadlines and says which have passed. It has no goroutine, no clock and no
// lock; whoever owns a [Wheel] tells it the time.
//
// Filing, moving and cancelling a timer take constant time, whatever the number of
// timers, where a heap takes logarithmic time and a cache miss per level of the
// heap. A timer costs 16 bytes, without pointers, so a million of them cost the
// garbage collector nothing.
//
// # Time
//
// Time is counted in ticks: any unit, any origin, the whole range of uint64. A
// timer is due when the wheel's time reaches its deadline: never a tick early, and
// with no loss of precision for far deadlines. A caller who counts nanoseconds in
// ticks of a millisecond rounds deadlines up, and the present down.
//
// # Geometry
//
// The wheel has levels of 64 slots. A slot of level 0 is one tick wide, a slot of
// level l is 64^l ticks wide. A deadline is filed by the highest base-64 digit in
// which it differs from the present:
//
//	level = (63 - LeadingZeros64((now ^ deadline) | 63)) / 6
//	slot  = digit number `level` of the deadline
//
// When the present enters a slot of a higher level, its timers are sorted into
// finer slots ("cascade"). This is the scheme of G. Varghese and T. Lauck, "Hashed
// and Hierarchical Timing Wheels" (SOSP 1987), with the digit arithmetic that
// tokio's timer uses. Linux's present wheel (kernel/time/timer.c) does without the
// cascade and is up to 12.5 % late for it; a work queue must not be.
//
// One word of occupied slots per level makes the next deadline two
// count-trailing-zero instructions away, so nothing ever ticks through empty
// slots: an idle wheel needs no wake-up at all.
package timerwheel
