package debugpage

import "strings"

// A quantity is a value of each shard that the map of shards can show.
type quantity struct {
	// Name selects the quantity in a request. Title is its name on the page.
	Name, Title string
	// unit follows a value in a label.
	unit string
	// shared reports whether the values are shares of the whole.
	shared bool
	values func(shardsReport) []uint64
}

var quantities = []quantity{
	{"depth", "Depth", "ready", false, func(r shardsReport) []uint64 { return unsigned(r.Ready) }},
	{"inflight", "In flight", "in flight", false, func(r shardsReport) []uint64 { return unsigned(r.Processing) }},
	{"delayed", "Delayed", "delayed", false, func(r shardsReport) []uint64 { return unsigned(r.Delayed) }},
	{"adds", "Share of adds", "of all adds", true, func(r shardsReport) []uint64 { return r.Added }},
}

func quantityNames() (names []string) {
	for _, q := range quantities {
		names = append(names, q.Name)
	}
	return names
}

func unsigned(values []int) []uint64 {
	result := make([]uint64, len(values))
	for i, v := range values {
		result[i] = uint64(v)
	}
	return result
}

// A heatMap has a cell for each shard.
type heatMap struct {
	Quantity quantity
	Cells    []heatCell
	// Summary describes the highest value in words.
	Summary string
	// Dense reports whether there are so many cells that they have no room for
	// text.
	Dense bool
}

// A heatCell shows a shard. Level is 0 for nothing, and 1 to 9 otherwise.
type heatCell struct {
	Level int
	Text  string
	Label string
}

// denseFrom is the number of shards from which a cell has no room for its
// value.
const denseFrom = 257

func newHeatMap(name string, shards shardsReport) heatMap {
	m := heatMap{}
	for _, q := range quantities {
		if q.Name == name {
			m.Quantity = q
		}
	}
	values := m.Quantity.values(shards)
	sum, highest := uint64(0), 0
	for i, v := range values {
		sum += v
		if v > values[highest] {
			highest = i
		}
	}
	m.Dense = len(values) >= denseFrom
	for i, v := range values {
		m.Cells = append(m.Cells, heatCell{
			Level: m.Quantity.level(v, values[highest], sum, len(values)),
			Text:  m.Quantity.short(v, sum),
			Label: "shard " + formatCount(i) + ": " + m.Quantity.inWords(v, sum),
		})
	}
	m.Summary = m.Quantity.summary(values, highest, sum)
	return m
}

// level returns the level of a cell. It is relative to the highest value. For
// shares it is relative to twice the mean, so that equal shards are in the
// middle.
func (q quantity) level(v, highest, sum uint64, n int) int {
	if v == 0 {
		return 0
	}
	scale := float64(highest)
	if q.shared {
		scale = 2 * float64(sum) / float64(n)
	}
	return min(9, 1+int(8*float64(v)/scale))
}

func (q quantity) short(v, sum uint64) string {
	if q.shared {
		return strings.ReplaceAll(formatShare(ratio(v, sum)), " ", "")
	}
	return formatShort(v)
}

func (q quantity) inWords(v, sum uint64) string {
	if q.shared {
		return formatShare(ratio(v, sum)) + " " + q.unit
	}
	return formatCount(v) + " " + q.unit
}

func (q quantity) summary(values []uint64, highest int, sum uint64) string {
	if sum == 0 {
		return "All shards: nothing " + q.unit + "."
	}
	times := float64(values[highest]) * float64(len(values)) / float64(sum)
	return "Highest: shard " + formatCount(highest) + ", " + q.inWords(values[highest], sum) +
		", which is " + formatRatio(times) + " times the mean."
}

func ratio(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
