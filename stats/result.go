package stats

import (
	"fmt"
	"iter"
)

// A Result says how an attempt of a worker ended. Each attempt has one.
// If several apply, the result is the first of Discarded, Requeued, Panicked,
// TimedOut and Failed that does.
type Result uint8

const (
	Succeeded Result = iota // the handler returned nil
	// Failed is the result of a handler that returned any other error.
	Failed
	// Panicked is the result of a handler that panicked or called
	// runtime.Goexit, or that returned an error that wraps a panic.
	Panicked
	// TimedOut is the result of a handler that used up the timeout of an
	// attempt, and returned an error that wraps [context.DeadlineExceeded].
	TimedOut
	// Requeued is the result of a handler that asked for the item again after a
	// delay, or whose context ended because of a shutdown, or because its item
	// was added again or canceled.
	Requeued
	// Discarded is the result of a failure after which the worker discarded the
	// item.
	Discarded

	Results = iota // the number of results
)

var resultNames = [Results]string{"success", "error", "panic", "timeout", "requeue", "discarded"}

// String returns the name that the metrics have for the result: success, error,
// panic, timeout, requeue or discarded.
func (r Result) String() string {
	if int(r) < len(resultNames) {
		return resultNames[r]
	}
	return fmt.Sprintf("Result(%d)", uint8(r))
}

// Attempts has the durations of the attempts of workers, by their results.
type Attempts struct {
	Succeeded, Failed, Panicked, TimedOut, Requeued, Discarded Histogram
}

// All returns an iterator over all results, with their durations.
func (a *Attempts) All() iter.Seq2[Result, *Histogram] {
	return func(yield func(Result, *Histogram) bool) {
		all := [Results]*Histogram{&a.Succeeded, &a.Failed, &a.Panicked, &a.TimedOut, &a.Requeued, &a.Discarded}
		for r, h := range all {
			if !yield(Result(r), h) {
				return
			}
		}
	}
}

// GroupAttempts counts the attempts of workers at the items of one group.
type GroupAttempts struct {
	Group  string          // the name of the group, cut after 128 bytes
	Counts [Results]uint64 // by [Result]
	// Missed is the greatest number of attempts that Counts may lack. It is
	// zero unless the queue has had more than a thousand groups.
	Missed uint64
}

// Total returns the number of attempts with any result.
func (g *GroupAttempts) Total() (total uint64) {
	for _, n := range g.Counts {
		total += n
	}
	return total
}
