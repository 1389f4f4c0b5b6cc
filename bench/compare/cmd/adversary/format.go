package main

import (
	"fmt"
	"math"
	"slices"
)

// String formats a cell: the median with the range, or the times within which
// shares of the calls were over.
func (c *cell) String() string {
	switch {
	case c == nil, c.unit == calls && c.calls.n == 0:
		return "–"
	case c.over:
		return "> " + quantity(duration, slices.Max(c.values))
	case c.unit == calls:
		return fmt.Sprintf("%s, %s, %s",
			quantity(duration, float64(c.calls.within(0.5))),
			quantity(duration, float64(c.calls.within(0.99))),
			quantity(duration, float64(c.calls.longest)))
	case c.unit == steps:
		return quantity(duration, float64(slices.Max(c.steps)))
	}
	sorted := slices.Sorted(slices.Values(c.values))
	least, greatest := quantity(c.unit, sorted[0]), quantity(c.unit, sorted[len(sorted)-1])
	if least == greatest {
		return least
	}
	return fmt.Sprintf("%s (%s–%s)", quantity(c.unit, median(sorted)), least, greatest)
}

func median(sorted []float64) float64 {
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[middle]
}

// quantity formats a number with its unit.
func quantity(u unit, x float64) string {
	switch u {
	case duration:
		return scaled(x, []float64{1, 1e3, 1e6, 1e9}, []string{"ns", "µs", "ms", "s"})
	case bytes:
		return scaled(x, []float64{1, 1 << 10, 1 << 20, 1 << 30}, []string{"B", "KiB", "MiB", "GiB"})
	case ratio:
		return digits(x)
	default:
		return fmt.Sprintf("%.0f", x)
	}
}

// scaled formats x in the largest unit of which it has at least one.
func scaled(x float64, sizes []float64, units []string) string {
	i := len(sizes) - 1
	for i > 0 && math.Abs(x) < sizes[i] {
		i--
	}
	return digits(x/sizes[i]) + " " + units[i]
}

// digits formats a number with three significant digits.
func digits(x float64) string {
	switch size := math.Abs(x); {
	case size >= 100 || size == math.Trunc(size):
		return fmt.Sprintf("%.0f", x)
	case size >= 10:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.2f", x)
	}
}
