package debugpage

import "strings"

// A quantity is a value of each shard that the map of shards can show. A
// request selects it by its name. It is in the report at a field, and its unit
// follows a value in a label. Shared values are shown as shares of the whole.
type quantity struct {
	Name, Title, field, unit string
	shared                   bool
}

var quantities = []quantity{
	{"depth", "Depth", "ready", "ready", false},
	{"inflight", "In flight", "processing", "in flight", false},
	{"delayed", "Delayed", "delayed", "delayed", false},
	{"adds", "Share of adds", "added", "of all adds", true},
}

// A heatMap has a cell for each shard, and a summary of the highest value in
// words. A dense one has so many cells that they have no room for text.
type heatMap struct {
	Quantity quantity
	Cells    []heatCell
	Summary  string
	Dense    bool
}

// A heatCell shows a shard. Level is 0 for nothing, and 1 to 9 otherwise.
type heatCell struct {
	Level       int
	Text, Label string
}

// denseFrom is the number of shards from which a map is dense.
const denseFrom = 257

func newHeatMap(q quantity, shards entry) heatMap {
	values := shards[q.field].([]uint64)
	m := heatMap{Quantity: q, Dense: len(values) >= denseFrom}
	sum, highest := uint64(0), 0
	for i, v := range values {
		sum += v
		if v > values[highest] {
			highest = i
		}
	}
	// Levels are relative to the highest value. For shares they are relative to
	// twice the mean, so that equal shards are in the middle.
	scale := float64(values[highest])
	if q.shared {
		scale = 2 * float64(sum) / float64(len(values))
	}
	for i, v := range values {
		cell := heatCell{Text: formatShort(v), Label: "shard " + formatCount(i) + ": " + q.inWords(v, sum)}
		if q.shared {
			cell.Text = strings.ReplaceAll(formatShare(ratio(v, sum)), " ", "")
		}
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
	if q.shared {
		return formatShare(ratio(v, sum)) + " " + q.unit
	}
	return formatCount(v) + " " + q.unit
}
