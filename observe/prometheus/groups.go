package shardqprom

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/roster"
)

// others is the name under which the groups are added up that have no series of their own.
const others = "other"

// nameBytes is how much of the name of a group is shown.
const nameBytes = 128

// collectGroups shows the greatest groups, and the others together. A queue that panics meanwhile has no
// groups in this scrape.
func (c *Collector) collectGroups(r *roster.Reading, names []string, metrics chan<- prometheus.Metric) {
	defer func() { _ = recover() }()
	for name, g := range greatest(r.Queue, c.options.Groups) {
		for state, n := range map[string]int{"ready": g.Ready, "processing": g.Processing, "waiting": g.Held - g.Ready - g.Processing} {
			values := append(slices.Clone(names), name, state)
			metrics <- sample{c.groups, prometheus.MakeLabelPairs(c.groups, values), prometheus.GaugeValue, float64(n)}
		}
	}
}

// greatest returns so many groups by the names under which they are shown, those that hold the
// most, and the sum of the others.
func greatest(queue shardq.Observable, limit int) map[string]shardq.GroupInfo {
	var rest shardq.GroupInfo
	kept := make([]shardq.GroupInfo, 0, 2*limit)
	cut := func() {
		slices.SortFunc(kept, func(a, b shardq.GroupInfo) int {
			return cmp.Or(cmp.Compare(b.Held, a.Held), cmp.Compare(a.Group, b.Group))
		})
		for _, g := range kept[min(limit, len(kept)):] {
			rest = sum(rest, g)
		}
		kept = kept[:min(limit, len(kept))]
	}
	for g := range queue.Groups() {
		if kept = append(kept, g); len(kept) == 2*limit {
			cut()
		}
	}
	cut()
	shown := map[string]shardq.GroupInfo{others: rest}
	for _, g := range kept {
		name := shownName(g.Group)
		shown[name] = sum(shown[name], g)
	}
	return shown
}

func sum(a, b shardq.GroupInfo) shardq.GroupInfo {
	a.Held += b.Held
	a.Ready += b.Ready
	a.Processing += b.Processing
	return a
}

// shownName returns the name of a group as the value of a label.
func shownName(group string) string {
	if len(group) > nameBytes {
		group = strings.TrimRight(group[:nameBytes], string(utf8.RuneError)) // which half a character decodes to
	}
	return strings.ToValidUTF8(group, "\uFFFD")
}
