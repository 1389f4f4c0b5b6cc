package stats

import "iter"

// Attempts has how long the attempts of workers took, by their results.
type Attempts struct {
	Succeeded, Failed, Panicked, TimedOut, Requeued, Discarded Histogram
}

// Of returns the durations of the attempts with a result, or nil if it is
// unknown.
func (a *Attempts) Of(r Result) *Histogram {
	if r >= Results {
		return nil
	}
	return a.all()[r]
}

// all returns the durations in the order of the results.
func (a *Attempts) all() []*Histogram {
	return []*Histogram{&a.Succeeded, &a.Failed, &a.Panicked, &a.TimedOut, &a.Requeued, &a.Discarded}
}

// All returns an iterator over all results, with their durations.
func (a *Attempts) All() iter.Seq2[Result, *Histogram] {
	return func(yield func(Result, *Histogram) bool) {
		for r, h := range a.all() {
			if !yield(Result(r), h) {
				return
			}
		}
	}
}

// GroupAttempts counts the attempts of workers at the items of one group.
type GroupAttempts struct {
	// Group is the name of the group. It is cut after 128 bytes.
	Group string
	// Counts has the number of attempts by [Result].
	Counts [Results]uint64
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
