package workload

// Quantile returns the element of an increasing sequence that a share of q of
// the elements does not exceed. 0.5 selects the median, and 1 the greatest.
func Quantile[T any](increasing []T, q float64) T {
	return increasing[min(int(q*float64(len(increasing))), len(increasing)-1)]
}

// Mean returns the mean of the numbers.
func Mean(numbers []int) float64 {
	total := 0
	for _, n := range numbers {
		total += n
	}
	return float64(total) / float64(len(numbers))
}
