package main

import (
	"cmp"
	"slices"
	"time"
)

// medianOf returns the medians of what the rounds of a queue found. What must
// not be, it adds up.
func medianOf(rounds []outcome) outcome {
	middle := rounds[0]
	middle.initial = median(rounds, func(o *outcome) time.Duration { return o.initial })
	middle.processor = median(rounds, func(o *outcome) time.Duration { return o.processor })
	middle.changes = median(rounds, func(o *outcome) int { return o.changes })
	middle.writes = median(rounds, func(o *outcome) float64 { return o.writes })
	middle.report.Reconciles = median(rounds, func(o *outcome) int64 { return o.report.Reconciles })
	middle.report.Memory = median(rounds, func(o *outcome) uint64 { return o.report.Memory })
	middle.report.Adds = medianTiming(rounds, func(o *outcome) timing { return o.report.Adds })
	middle.report.Parts = map[string]timing{}
	for part := range rounds[0].report.Parts {
		middle.report.Parts[part] = medianTiming(rounds, func(o *outcome) timing { return o.report.Parts[part] })
	}
	for _, o := range rounds[1:] {
		middle.left += o.left
		middle.overlaps += o.overlaps
		middle.report.Doubled += o.report.Doubled
	}
	return middle
}

func medianTiming(rounds []outcome, of func(*outcome) timing) timing {
	return timing{
		Count:  median(rounds, func(o *outcome) int { return of(o).Count }),
		Median: median(rounds, func(o *outcome) time.Duration { return of(o).Median }),
		P99:    median(rounds, func(o *outcome) time.Duration { return of(o).P99 }),
		Max:    median(rounds, func(o *outcome) time.Duration { return of(o).Max }),
	}
}

func median[V cmp.Ordered](rounds []outcome, of func(*outcome) V) V {
	values := make([]V, len(rounds))
	for i := range rounds {
		values[i] = of(&rounds[i])
	}
	slices.Sort(values)
	return values[len(values)/2]
}
