package kubernetes

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/shardq/shardq/internal/registry"
	"github.com/shardq/shardq/internal/series"
)

// GroupMetrics returns a collector of shardq_group_items: the items of the most
// largest groups of each open queue, and of its other groups together, as the
// group "other". Of several queues with one name, only the first has series.
// Each scrape reads all groups that have items. Register it once:
//
//	metrics.Registry.MustRegister(kubernetes.GroupMetrics(20))
func GroupMetrics(most int) prometheus.Collector {
	return &groupCollector{max(1, most), prometheus.NewDesc("shardq_group_items", series.GroupItems.Text,
		[]string{"name", "controller", "group", "state"}, nil)}
}

type groupCollector struct {
	most int
	desc *prometheus.Desc
}

func (c *groupCollector) Describe(to chan<- *prometheus.Desc) { to <- c.desc }

func (c *groupCollector) Collect(to chan<- prometheus.Metric) {
	known := map[string]bool{"": true} // a name twice would fail the scrape
	for _, q := range pages.list() {
		name := q.Name()
		if known[name] {
			continue
		}
		known[name] = true
		reading := &registry.Reading{Row: &registry.Row{Name: name, Queue: q, Configuration: q.Inspect().Configuration()}}
		for _, g := range series.Groups(reading, c.most) {
			to <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(g.Items), name, name, g.Group, g.State)
		}
	}
}
