package series

import "github.com/shardq/shardq"

// Histograms are all that there are.
var Histograms = []Histogram{
	{
		"workqueue.queue.duration", "How long items were asked for before they were handed out",
		func(m *shardq.Metrics) shardq.Histogram { return m.QueueDuration },
	},
	{
		"workqueue.work.duration", "How long items were in processing",
		func(m *shardq.Metrics) shardq.Histogram { return m.WorkDuration },
	},
	{
		"shardq.delay", "How long the delays were that were asked for",
		func(m *shardq.Metrics) shardq.Histogram { return m.Delay },
	},
}
