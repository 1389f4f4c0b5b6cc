package debugpage

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// The script has the same formats: a test in a browser compares the two.

// formatCount formats a whole number with separators: 1,234,567.
func formatCount[N int | int64 | uint64](n N) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// formatDuration rounds down to at least two digits: 1.2 ms, 3 m 05 s.
func formatDuration(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return "-" + formatDuration(-max(d, -math.MaxInt64)) // also of the most negative duration
	case d == 0:
		return "0 s"
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d)
	case d < time.Millisecond:
		return withUnit(d, time.Microsecond, " µs")
	case d < time.Second:
		return withUnit(d, time.Millisecond, " ms")
	case d < time.Minute:
		return withUnit(d, time.Second, " s")
	case d < time.Hour:
		return fmt.Sprintf("%d m %02d s", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%d h %02d m", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%s d %02d h", formatCount(int64(d/day)), d%day/time.Hour)
}

func withUnit[N time.Duration | uint64](d, unit N, name string) string {
	if d < 10*unit {
		return fmt.Sprintf("%d.%d%s", d/unit, d%unit/(unit/10), name)
	}
	return fmt.Sprintf("%d%s", d/unit, name)
}

func formatShare(part float64) string {
	percent := part * 100
	switch {
	case percent == 0 || percent >= 10:
		return fmt.Sprintf("%d %%", int(percent))
	case percent < 0.1:
		return "< 0.1 %"
	}
	return fmt.Sprintf("%d.%d %%", int(percent), int(percent*10)%10)
}

func formatRatio(ratio float64) string {
	tenths := int(ratio * 10)
	return fmt.Sprintf("%d.%d", tenths/10, tenths%10)
}

// formatDecimal formats a number with three digits, or all before the point.
func formatDecimal(number float64) string {
	if number >= 100 {
		return formatCount(uint64(math.Round(number)))
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(number, 'g', 3, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// formatBrief formats a count for a field of a few characters: 1,234,567 or 10
// G. From ten million on it shows only the leading digits.
func formatBrief[N int | int64 | uint64](n N) string {
	if n < 10_000_000 {
		return formatCount(n)
	}
	return scaled(uint64(n), 1_000_000, " M", " G", " T", " P", " E")
}

// formatShort formats a count in at most four characters: 987, 12k, 1.2M. A
// count that needs more gets more.
func formatShort(n uint64) string {
	if n < 1000 {
		return strconv.FormatUint(n, 10)
	}
	return scaled(n, 1000, "k", "M", "G")
}

// scaled formats n with the first of the units, each a thousand of the one
// before, that leaves less than a thousand.
func scaled(n, unit uint64, names ...string) string {
	for ; n/unit >= 1000 && len(names) > 1; names = names[1:] {
		unit *= 1000
	}
	return withUnit(n, unit, names[0])
}
