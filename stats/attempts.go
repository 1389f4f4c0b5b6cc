package stats

import "iter"

// Attempts has how long the attempts of workers took, by their results. The
// Count of each histogram is the number of these attempts.
type Attempts struct {
	Succeeded, Failed, Panicked, TimedOut, Requeued, Discarded Histogram
}

// Of returns the durations of the attempts with a result. It returns nil for an
// unknown result.
func (a *Attempts) Of(r Result) *Histogram {
	switch r {
	case Succeeded:
		return &a.Succeeded
	case Failed:
		return &a.Failed
	case Panicked:
		return &a.Panicked
	case TimedOut:
		return &a.TimedOut
	case Requeued:
		return &a.Requeued
	case Discarded:
		return &a.Discarded
	}
	return nil
}

// All returns an iterator over all results, with their durations.
func (a *Attempts) All() iter.Seq2[Result, *Histogram] {
	return func(yield func(Result, *Histogram) bool) {
		for r := range Result(Results) {
			if !yield(r, a.Of(r)) {
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
	// Missed is the greatest number of attempts that Counts may lack. They took
	// place while the queue did not count the group by itself.
	//
	// It is zero unless the queue has had more than a thousand groups.
	Missed uint64
}

// Total returns the number of attempts with any result.
func (g *GroupAttempts) Total() (total uint64) {
	for _, n := range g.Counts {
		total += n
	}
	return total
}
