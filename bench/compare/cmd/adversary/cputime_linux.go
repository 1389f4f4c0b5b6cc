package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the processor time of the calling thread: a clock that
// stands still while the machine does something else. A goroutine that uses it
// must stay on its thread.
func threadTime() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		panic(err) // every Linux has it
	}
	return time.Duration(now.Nano())
}

// thread returns the number of the calling thread.
func thread() int { return unix.Gettid() }
