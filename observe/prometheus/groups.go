package shardqprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/shardq/shardq/internal/roster"
)

// collectGroups shows the greatest groups, and the others together.
func (c *Collector) collectGroups(r *roster.Reading, names []string, metrics chan<- prometheus.Metric) {
	show := func(group, state string, n int) {
		values := append(names[:len(names):len(names)], group, state)
		metrics <- sample{c.groups, prometheus.MakeLabelPairs(c.groups, values), prometheus.GaugeValue, float64(n)}
	}
	for group, g := range r.Groups(c.options.Groups) {
		show(group, "ready", g.Ready)
		show(group, "processing", g.Processing)
		show(group, "waiting", g.Held-g.Ready-g.Processing)
	}
}
