//go:build !linux

package main

import "time"

// threadTime replaces the processor time of a thread, which exists only on
// Linux. It returns the time of day, which goes on while the machine does
// something else.
func threadTime() time.Duration { return time.Since(beginning) }

// thread returns 0, because it cannot distinguish threads.
func thread() int { return 0 }
