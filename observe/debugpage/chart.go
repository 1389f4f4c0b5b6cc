package debugpage

import "time"

// A chart shows a histogram.
type chart struct {
	// Path is where the histogram is in the report of a queue.
	Path, Title, Meaning string
	// Since says which time the histogram covers.
	Since     string
	Histogram histogram
	// Fleeting reports whether the chart is hidden while its histogram is
	// empty.
	Fleeting bool
}

const sinceCreation = "since creation"

// charts returns the charts of the durations, or nil if there are none.
func (d *durations) charts() []chart {
	if d == nil {
		return nil
	}
	return []chart{
		{"detail.durations.queue", "In the queue", "from the first add to the Get", sinceCreation, d.Queue, false},
		{"detail.durations.work", "At work", "from the Get to the Done", sinceCreation, d.Work, false},
		{"detail.durations.delay", "Delays", "as requested", sinceCreation, d.Delay, false},
	}
}

// timeLeftChart returns the chart above the delayed items.
func (d *detailReport) timeLeftChart() *chart {
	return &chart{"detail.timeLeft", "Time left", "of all running delays", "now", d.TimeLeft, true}
}

// Hidden reports whether there is nothing to show.
func (c chart) Hidden() bool { return c.Fleeting && c.Histogram.Count == 0 }

// A bar stands in a chart that is 100 high, and 10 wide for each bar.
type bar struct {
	X, Y, Height int
	Label        string
}

const barPitch = 10

// Bars returns the bars of the buckets. The bar of a bucket that is not empty
// is always visible.
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

// Width returns the width of the chart.
func (c chart) Width() int { return max(1, len(c.Histogram.Buckets)) * barPitch }

// Label describes the chart in words.
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

// First returns the bound at the left end.
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

// longestBound is the bound of the last bounded bucket, in words.
var longestBound = formatDuration((1 << highestPower) * time.Second)

// quantile returns a formatted quantile.
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

// A figure is a number that describes a histogram.
type figure struct{ Title, Part, Text string }

// Figures returns the numbers beside a chart.
func (h histogram) Figures() []figure {
	return []figure{
		{"p50", "p50Seconds", h.quantile(h.P50Seconds)},
		{"p90", "p90Seconds", h.quantile(h.P90Seconds)},
		{"p99", "p99Seconds", h.quantile(h.P99Seconds)},
		{"mean", "mean", h.mean()},
		{"count", "count", formatCount(h.Count)},
	}
}
