package series

import "github.com/shardq/shardq/stats"

// Histograms are all histograms of a queue.
var Histograms = []Histogram{
	{
		"workqueue.queue.duration", "Time from the first add that a run serves until Get returns the item",
		func(m *stats.Metrics) stats.Histogram { return m.QueueDuration },
	},
	{
		"workqueue.work.duration", "Time from Get to Done",
		func(m *stats.Metrics) stats.Histogram { return m.WorkDuration },
	},
	{
		"shardq.delay", "Requested delays",
		func(m *stats.Metrics) stats.Histogram { return m.Delay },
	},
}
