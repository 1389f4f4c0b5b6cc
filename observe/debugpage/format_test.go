package debugpage

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDurationsForPeople(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                           "0 s",
		1:                           "1 ns",
		999:                         "999 ns",
		1500:                        "1.5 µs",
		9999:                        "9.9 µs",
		10_000:                      "10 µs",
		1200 * time.Microsecond:     "1.2 ms",
		999_999_999:                 "999 ms",
		time.Second:                 "1.0 s",
		59_999 * time.Millisecond:   "59 s",
		185 * time.Second:           "3 m 05 s",
		time.Hour - 1:               "59 m 59 s",
		2*time.Hour + 5*time.Minute: "2 h 05 m",
		75 * time.Hour:              "3 d 03 h",
		math.MaxInt64:               "106,751 d 23 h",
		-time.Millisecond:           "-1.0 ms",
	} {
		require.Equal(t, want, formatDuration(d))
	}
	require.Equal(t, "-106,751 d 23 h", formatDuration(math.MinInt64))
}

// TestLongestDurations checks durations that exceed the maximum when they are
// rounded up as seconds.
func TestLongestDurations(t *testing.T) {
	for _, d := range []time.Duration{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 - 1000} {
		require.Equal(t, "106,751 d 23 h", formatDuration(inSeconds(d).duration()))
	}
	require.Equal(t, "-106,751 d 23 h", formatDuration(inSeconds(math.MinInt64).duration()))
	require.Equal(t, 1500*time.Millisecond, inSeconds(1500*time.Millisecond).duration())
}

func TestCountsForPeople(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -999: "-999", math.MinInt64: "-9,223,372,036,854,775,808",
	} {
		require.Equal(t, want, formatCount(n))
	}
	require.Equal(t, "18,446,744,073,709,551,615", formatCount(uint64(math.MaxUint64)))
	for n, want := range map[uint64]string{7: "7", 999: "999", 1000: "1.0k", 9_999: "9.9k", 12_345: "12k", 1_200_000: "1.2M", 34_000_000_000: "34G"} {
		require.Equal(t, want, formatShort(n))
	}
	for share, want := range map[float64]string{0: "0 %", 0.0001: "< 0.1 %", 0.014: "1.4 %", 0.5: "50 %", 1: "100 %"} {
		require.Equal(t, want, formatShare(share))
	}
}

func TestBriefCounts(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0", 9_999_999: "9,999,999", 10_000_000: "10 M", 999_999_999: "999 M", 1_000_000_000: "1.0 G", 9_990_000_000: "9.9 G",
		1 << 40: "1.0 T", 1 << 63: "9.2 E", 1<<64 - 1: "18 E",
	} {
		require.Equal(t, want, formatBrief(n))
	}
}
