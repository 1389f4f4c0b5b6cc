package traces

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRanges checks that list and expand are inverse to each other.
func TestRanges(t *testing.T) {
	for names, short := range map[string]string{
		"a1 a2 a3":       "a1..a3",
		"a1 a2":          "a1 a2",
		"a9 a10 a11 b12": "a9..a11 b12",
		"b a3 a4 a5 a5":  "b a3..a5 a5",
		"a3 a2 a1":       "a3 a2 a1",
		"a01 a02 a03":    "a01 a02 a03",
		"1 2 3 4":        "1..4",
		`a "" b`:         `a "" b`,
		"":               "",
	} {
		require.Equal(t, short, list(strings.Fields(names)))
		expanded, err := expand(strings.Fields(short))
		require.NoError(t, err)
		require.Equal(t, strings.Fields(names), append([]string{}, expanded...))
	}
	require.Equal(t, []string{"a2", "a10", "b", "b1"}, sorted([]string{"b1", "a10", "b", "a2"}))
}

// TestDurations checks that formatDuration and parseDuration are inverse to
// each other.
func TestDurations(t *testing.T) {
	for d, text := range map[time.Duration]string{
		time.Hour:                       "1h",
		time.Hour + time.Minute:         "1h1m",
		time.Hour + time.Second:         "1h0m1s",
		10 * time.Minute:                "10m",
		20 * time.Second:                "20s",
		0:                               "0s",
		1500 * time.Microsecond:         "1.5ms",
		-time.Hour:                      "-1h",
		extremes["longest"]:             "longest",
		extremes["smallest"]:            "smallest",
		100*time.Hour + 10*time.Minute:  "100h10m",
		100*time.Hour + 100*time.Second: "100h1m40s",
	} {
		require.Equal(t, text, formatDuration(d))
		parsed, err := parseDuration(text)
		require.NoError(t, err)
		require.Equal(t, d, parsed)
	}
}
