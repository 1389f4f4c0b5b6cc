package debugpage

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/shardq/shardq/stats"
)

type durations struct {
	Queue histogram `json:"queue"`
	Work  histogram `json:"work"`
	Delay histogram `json:"delay"`
}

func newDurations(m *stats.Metrics) *durations {
	if m == nil {
		return nil
	}
	return &durations{newHistogram(m.QueueDuration, 0), newHistogram(m.WorkDuration, 0), newHistogram(m.Delay, 0)}
}

// A histogram is the distribution of a duration. A quantile is nil if it lies
// beyond the last bound, and the mean if the sum exceeds what can be counted.
type histogram struct {
	Count       uint64  `json:"count"`
	SumSeconds  seconds `json:"sumSeconds"`
	MeanSeconds any     `json:"meanSeconds"`
	P50Seconds  any     `json:"p50Seconds"`
	P90Seconds  any     `json:"p90Seconds"`
	P99Seconds  any     `json:"p99Seconds"`

	Buckets []bucket    `json:"buckets"` // one for each doubling
	Fine    fineBuckets `json:"fine"`    // eight for each doubling, to compare two readings
}

type fineBuckets struct {
	AtMostSeconds []any    `json:"atMostSeconds"`
	Counts        []uint64 `json:"counts"`
}

// A bucket counts durations up to its bound. The last of all has no bound.
type bucket struct {
	AtMostSeconds any    `json:"atMostSeconds"`
	Count         uint64 `json:"count"`
}

func newHistogram(h stats.Histogram, fineness time.Duration) histogram {
	bounded := func(d time.Duration) any { return known(inSeconds(d), d != math.MaxInt64) }
	fine := fineBuckets{[]any{}, []uint64{}}
	for bound, n := range h.Buckets() {
		fine.AtMostSeconds, fine.Counts = append(fine.AtMostSeconds, bounded(bound)), append(fine.Counts, n)
	}
	return histogram{
		Count: h.Count, SumSeconds: inSeconds(h.Sum), MeanSeconds: known(inSeconds(h.Mean()), h.Sum < math.MaxInt64),
		P50Seconds: bounded(h.Quantile(0.5)), P90Seconds: bounded(h.Quantile(0.9)), P99Seconds: bounded(h.Quantile(0.99)),
		Buckets: doublings(h, fineness), Fine: fine,
	}
}

// The powers of two of a second that bound the shown buckets are also bounds of
// [stats.Histogram], so that no duration falls into two.
const lowestPower, highestPower = -30, 20

// doublings returns one bucket for all durations below the fineness, or overdue
// delays would start a row of thirty empty ones.
func doublings(h stats.Histogram, fineness time.Duration) []bucket {
	buckets, before := []bucket{}, uint64(0)
	add := func(bound any, atMost uint64) {
		if len(buckets) > 0 || atMost > 0 {
			buckets = append(buckets, bucket{bound, atMost - before})
		}
		before = atMost
	}
	for power := lowestPower; power <= highestPower && before < h.Count; power++ {
		bound := time.Duration(math.Floor(1e9 * math.Exp2(float64(power))))
		if bound >= fineness {
			add(inSeconds(bound), h.AtMost(bound))
		}
	}
	if before < h.Count {
		add(nil, h.Count)
	}
	return buckets
}

type chart struct {
	Path, Title, Meaning, Since string
	Histogram                   histogram
	Fleeting                    bool // hidden while it is empty
}

func (d *durations) charts() []chart {
	if d == nil {
		return nil
	}
	const since = "since creation"
	return []chart{
		{"detail.durations.queue", "In the queue", "from the first add to the Get", since, d.Queue, false},
		{"detail.durations.work", "At work", "from the Get to the Done", since, d.Work, false},
		{"detail.durations.delay", "Delays", "as requested", since, d.Delay, false},
	}
}

const barPitch = 10 // the width for each bar of a chart that is 100 high

type bar struct {
	X, Y, Height int
	Label        string
}

func (c chart) Bars() (bars []bar) {
	highest := uint64(0)
	for _, b := range c.Histogram.Buckets {
		highest = max(highest, b.Count)
	}
	for i, b := range c.Histogram.Buckets {
		height := 0
		if b.Count > 0 {
			height = max(2, int(100*float64(b.Count)/float64(highest)))
		}
		bars = append(bars, bar{i * barPitch, 100 - height, height, c.label(i) + ": " + formatCount(b.Count)})
	}
	return bars
}

func (c chart) Label() string {
	h := c.Histogram
	if h.Count == 0 {
		return c.Title + ": nothing yet"
	}
	half := orNone(h.P50Seconds != nil, "at most "+h.quantile(h.P50Seconds), "longer than "+longestBound)
	return c.Title + ": " + formatCount(h.Count) + orNone(h.Count == 1, " duration, ", " durations, half of them ") + half
}

func (c chart) Hidden() bool  { return c.Fleeting && c.Histogram.Count == 0 }
func (c chart) Width() int    { return max(1, len(c.Histogram.Buckets)) * barPitch }
func (c chart) First() string { return c.label(0) }
func (c chart) Last() string  { return c.label(len(c.Histogram.Buckets) - 1) }

func (c chart) label(i int) string {
	if len(c.Histogram.Buckets) == 0 {
		return ""
	}
	bound := c.Histogram.Buckets[i].AtMostSeconds
	return orNone(bound != nil, "≤ "+formatMeasured(bound), "> "+longestBound)
}

// formatMeasured returns 0 for a duration that was too short to be measured.
func formatMeasured(value any) string {
	return orNone(value == seconds(0), "0", formatValue(asDuration, value))
}

var longestBound = formatDuration((1 << highestPower) * time.Second)

func (h histogram) quantile(q any) string {
	return orNone(h.Count > 0, orNone(q != nil, formatMeasured(q), "> "+longestBound), unknown)
}

type point struct{ Title, Part, Text string }

func (h histogram) Points() []point {
	return []point{
		{"p50", "p50Seconds", h.quantile(h.P50Seconds)},
		{"p90", "p90Seconds", h.quantile(h.P90Seconds)},
		{"p99", "p99Seconds", h.quantile(h.P99Seconds)},
		{"mean", "mean", orNone(h.Count > 0, formatMeasured(h.MeanSeconds), unknown)},
		{"count", "count", formatCount(h.Count)},
	}
}

type quantity struct {
	Name, Title, field, unit string
	shared                   bool // shown as shares of the whole
}

var quantities = []quantity{
	{"depth", "Depth", "ready", "ready", false},
	{"inflight", "In flight", "processing", "in flight", false},
	{"delayed", "Delayed", "delayed", "delayed", false},
	{"adds", "Share of adds", "added", "of all adds", true},
}

type heatMap struct {
	Quantity quantity
	Cells    []heatCell
	Summary  string
	Dense    bool // without room for text in the cells
}

type heatCell struct {
	Level       int // 0 for nothing, and 1 to 9 otherwise
	Text, Label string
}

const denseFrom = 257 // shards

func newHeatMap(q quantity, shards entry) heatMap {
	values := shards[q.field].([]uint64)
	m := heatMap{Quantity: q, Dense: len(values) >= denseFrom}
	sum, highest := uint64(0), slices.Index(values, slices.Max(values))
	for _, v := range values {
		sum += v
	}
	// Levels are relative to the highest value. For shares they are relative to
	// twice the mean, so that equal shards are in the middle.
	scale := float64(values[highest])
	if q.shared {
		scale = 2 * float64(sum) / float64(len(values))
	}
	for i, v := range values {
		text := orNone(q.shared, strings.ReplaceAll(formatShare(ratio(v, sum)), " ", ""), formatShort(v))
		cell := heatCell{Text: text, Label: "shard " + formatCount(i) + ": " + q.inWords(v, sum)}
		if v > 0 {
			cell.Level = min(9, 1+int(8*float64(v)/scale))
		}
		m.Cells = append(m.Cells, cell)
	}
	m.Summary = "All shards: nothing " + q.unit + "."
	if sum > 0 {
		times := float64(values[highest]) * float64(len(values)) / float64(sum)
		m.Summary = "Highest: shard " + formatCount(highest) + ", " + q.inWords(values[highest], sum) +
			", which is " + formatRatio(times) + " times the mean."
	}
	return m
}

func (q quantity) inWords(v, sum uint64) string {
	return orNone(q.shared, formatShare(ratio(v, sum)), formatCount(v)) + " " + q.unit
}
