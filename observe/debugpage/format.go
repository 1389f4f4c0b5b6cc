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
	digits := strconv.FormatInt(int64(n), 10)
	if n > 0 && int64(n) < 0 {
		digits = strconv.FormatUint(uint64(n), 10)
	}
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// formatDuration formats a duration for people, with at least two digits: 1.2
// ms, 3 m 05 s. It rounds down.
func formatDuration(d time.Duration) string {
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

const day = 24 * time.Hour

func withUnit[N time.Duration | uint64](d, unit N, name string) string {
	if d < 10*unit {
		return fmt.Sprintf("%d.%d%s", d/unit, d%unit/(unit/10), name)
	}
	return fmt.Sprintf("%d%s", d/unit, name)
}

// formatShare formats a part of the whole as a percentage.
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

// formatRatio formats a ratio with one decimal.
func formatRatio(ratio float64) string {
	tenths := int(ratio * 10)
	return fmt.Sprintf("%d.%d", tenths/10, tenths%10)
}

// formatDecimal formats a number with three digits, or more if it has more
// before the point.
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
	unit, name := uint64(1_000_000), 0
	for uint64(n)/unit >= 1000 {
		unit, name = unit*1000, name+1
	}
	return withUnit(uint64(n), unit, " "+"MGTPE"[name:name+1])
}

// formatShort formats a count in at most four characters, for a small field:
// 987, 12k, 1.2M. A count that needs more gets more.
func formatShort(n uint64) string {
	switch {
	case n < 1000:
		return strconv.FormatUint(n, 10)
	case n < 1_000_000:
		return withUnit(n, 1000, "k")
	case n < 1_000_000_000:
		return withUnit(n, 1_000_000, "M")
	}
	return withUnit(n, 1_000_000_000, "G")
}
