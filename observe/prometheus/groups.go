package shardqprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/shardq/shardq/internal/registry"
	"github.com/shardq/shardq/internal/series"
)

// collectGroups exports the largest groups, and the sum of the others.
func (c *Collector) collectGroups(r *registry.Reading, names []string, metrics chan<- prometheus.Metric) {
	for _, g := range series.Groups(r, c.options.Groups) {
		values := append(names[:len(names):len(names)], g.Group, g.State)
		metrics <- sample{c.groups, prometheus.MakeLabelPairs(c.groups, values), prometheus.GaugeValue, float64(g.Items)}
	}
}
