package main

import (
	"fmt"
	"slices"

	"github.com/shardq/shardq/bench/compare/internal/document"
)

// spread is the median of some values, with their least and greatest.
type spread struct{ median, least, greatest float64 }

func spreadOf(values []float64) spread {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	median := sorted[middle]
	if len(sorted)%2 == 0 {
		median = (sorted[middle-1] + sorted[middle]) / 2
	}
	return spread{median, sorted[0], sorted[len(sorted)-1]}
}

// ratios divides round by round.
func ratios(dividend, divisor []float64) []float64 {
	quotients := make([]float64, len(dividend))
	for i := range dividend {
		quotients[i] = dividend[i] / divisor[i]
	}
	return quotients
}

// String returns the median with the range: "4.2 (3.9–4.4)".
func (s spread) String() string {
	if s.least == s.greatest {
		return figure(s.median)
	}
	return fmt.Sprintf("%s (%s–%s)", figure(s.median), figure(s.least), figure(s.greatest))
}

func figure(x float64) string { return document.Figure(x) }
