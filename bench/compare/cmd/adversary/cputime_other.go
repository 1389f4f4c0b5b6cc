//go:build !linux

package main

import "time"

// threadTime stands in for the processor time of a thread, which takes Linux: it is the
// time of day, and goes on while the machine does something else.
func threadTime() time.Duration { return time.Since(beginning) }

// thread cannot tell threads apart, and names none.
func thread() int { return 0 }
