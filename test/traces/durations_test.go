package traces

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// extremes are the durations that have a name.
var extremes = map[string]time.Duration{"longest": math.MaxInt64, "smallest": math.MinInt64}

func parseDuration(word string) (time.Duration, error) {
	if d, ok := extremes[word]; ok {
		return d, nil
	}
	d, err := time.ParseDuration(word)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration: want one like 5s or 1m30s, longest, or smallest", word)
	}
	return d, nil
}

// formatDuration writes a duration in its short form: 1h, not 1h0m0s.
func formatDuration(d time.Duration) string {
	for name, extreme := range extremes {
		if d == extreme {
			return name
		}
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
