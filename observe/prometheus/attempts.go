package shardqprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/shardq/shardq/internal/registry"
	"github.com/shardq/shardq/internal/series"
)

// attempts has the descriptions of the series of attempts.
type attempts struct {
	counts, durations *prometheus.Desc
	groups            *prometheus.Desc // nil without groups
}

func (c *Collector) describeAttempts() {
	const label = "result"
	c.attempts.counts = c.newDesc(nameOf(series.Attempts), series.Attempts.Text, label)
	c.attempts.durations = c.newDesc(nameOf(series.AttemptDuration), series.AttemptDuration.Text, label)
	if c.options.Groups > 0 {
		c.attempts.groups = c.newDesc(nameOf(series.GroupAttempts), series.GroupAttempts.Text, "group", label)
	}
}

// collectAttempts exports the attempts of workers. The counters of all results
// exist from the beginning, so that their rates are right. A histogram has many
// series, and appears with its first attempt.
func (c *Collector) collectAttempts(r *registry.Reading, names []string, metrics chan<- prometheus.Metric) {
	for _, result := range series.Results(r.Stats.Metrics) {
		values := append(names[:len(names):len(names)], result.Name)
		labels := prometheus.MakeLabelPairs(c.attempts.counts, values)
		metrics <- sample{c.attempts.counts, labels, prometheus.CounterValue, float64(result.Durations.Count)}
		if result.Durations.Count > 0 {
			metrics <- histogram{c.attempts.durations, labels, result.Durations}
		}
	}
	if c.attempts.groups == nil {
		return
	}
	for _, g := range series.GroupResults(r, c.options.Groups) {
		values := append(names[:len(names):len(names)], g.Group, g.Result)
		labels := prometheus.MakeLabelPairs(c.attempts.groups, values)
		metrics <- sample{c.attempts.groups, labels, prometheus.CounterValue, float64(g.Attempts)}
	}
}
