package main

import (
	"fmt"
	"math"
	"slices"
)

// spread is the median of some values and their least and greatest.
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

// String is the median with the range: "4.2 (3.9–4.4)".
func (s spread) String() string {
	if s.least == s.greatest {
		return figure(s.median)
	}
	return fmt.Sprintf("%s (%s–%s)", figure(s.median), figure(s.least), figure(s.greatest))
}

// figure writes a number with about three digits that count.
func figure(x float64) string {
	switch size := math.Abs(x); {
	case size >= 1e6:
		return fmt.Sprintf("%.3gM", x/1e6)
	case size >= 10_000:
		return fmt.Sprintf("%.3gk", x/1000)
	case size >= 100 || size == math.Trunc(size):
		return fmt.Sprintf("%.0f", x)
	case size >= 10:
		return fmt.Sprintf("%.1f", x)
	case size < 0.005:
		return "0.00"
	default:
		return fmt.Sprintf("%.2f", x)
	}
}
