package document

import (
	"fmt"
	"math"
)

// Figure formats a number with about three significant digits.
func Figure(x float64) string {
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
