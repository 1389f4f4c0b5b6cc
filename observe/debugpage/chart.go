package debugpage

import "time"

// A chart shows a histogram.
type chart struct {
	// Path is where the histogram is in the report of a queue.
	Path, Title, Meaning string
	// Since says of which time it is.
	Since     string
	Histogram histogram
	// Fleeting: there is nothing to show while nothing is counted.
	Fleeting bool
}

const sinceMade = "since it was made"

// charts returns the histograms as they are shown, or nothing if there are none.
func (d *durations) charts() []chart {
	if d == nil {
		return nil
	}
	return []chart{
		{"detail.durations.queue", "In the queue", "from the first add to the Get", sinceMade, d.Queue, false},
		{"detail.durations.work", "At work", "from the Get to the Done", sinceMade, d.Work, false},
		{"detail.durations.delay", "Delays", "as they were asked for", sinceMade, d.Delay, false},
	}
}

// timeLeftChart returns the chart beside what waits.
func (d *detailReport) timeLeftChart() *chart {
	return &chart{"detail.timeLeft", "Time left", "of all delays that are running", "now", d.TimeLeft, true}
}

// Hidden reports whether there is nothing to show.
func (c chart) Hidden() bool { return c.Fleeting && c.Histogram.Count == 0 }

// A bar is one of a chart that is 100 high, and 10 wide for each bar.
type bar struct {
	X, Y, Height int
	Label        string
}

const barPitch = 10

// Bars returns the bars of the buckets. A bucket that is not empty has a bar that can be seen.
func (c chart) Bars() []bar {
	highest := uint64(0)
	for _, b := range c.Histogram.Buckets {
		highest = max(highest, b.Count)
	}
	bars := make([]bar, len(c.Histogram.Buckets))
	for i, b := range c.Histogram.Buckets {
		height := 0
		if b.Count > 0 {
			height = max(2, int(100*float64(b.Count)/float64(highest)))
		}
		bars[i] = bar{i * barPitch, 100 - height, height, b.label() + ": " + formatCount(b.Count)}
	}
	return bars
}

// Width returns how wide the chart is.
func (c chart) Width() int { return max(1, len(c.Histogram.Buckets)) * barPitch }

// Label says in words what the chart shows.
func (c chart) Label() string {
	h := c.Histogram
	if h.Count == 0 {
		return c.Title + ": nothing yet"
	}
	half := "at most " + h.quantile(h.P50Seconds)
	if h.P50Seconds == nil {
		half = "longer than " + longestBound
	}
	return c.Title + ": " + formatCount(h.Count) + " durations, half of them " + half
}

// First and Last are the bounds at the two ends of the chart.
func (c chart) First() string { return c.bound(0) }

// Last returns the bound at the right end.
func (c chart) Last() string { return c.bound(len(c.Histogram.Buckets) - 1) }

func (c chart) bound(i int) string {
	if len(c.Histogram.Buckets) == 0 {
		return ""
	}
	return c.Histogram.Buckets[i].label()
}

func (b bucket) label() string {
	if b.AtMostSeconds == nil {
		return "> " + longestBound
	}
	return "≤ " + formatDuration(b.AtMostSeconds.duration())
}

// longestBound is that of the last bucket that has one, in words.
var longestBound = formatDuration((1 << highestPower) * time.Second)

// Quantile returns a quantile in words.
func (h histogram) quantile(q *seconds) string {
	switch {
	case h.Count == 0:
		return unknown
	case q == nil:
		return "> " + longestBound
	}
	return formatDuration(q.duration())
}

func (h histogram) mean() string {
	if h.Count == 0 || h.MeanSeconds == nil {
		return unknown
	}
	return formatDuration(h.MeanSeconds.duration())
}

// A figure is one of those that are said of a histogram.
type figure struct{ Title, Part, Text string }

// Figures are those that stand beside a chart.
func (h histogram) Figures() []figure {
	return []figure{
		{"p50", "p50Seconds", h.quantile(h.P50Seconds)},
		{"p90", "p90Seconds", h.quantile(h.P90Seconds)},
		{"p99", "p99Seconds", h.quantile(h.P99Seconds)},
		{"mean", "mean", h.mean()},
		{"count", "count", formatCount(h.Count)},
	}
}
