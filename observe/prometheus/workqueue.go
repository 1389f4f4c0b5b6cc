package shardqprom

import "github.com/shardq/shardq"

// workqueue returns the seven series that Kubernetes has of a workqueue. The texts are those that
// are scraped there, word by word (a registry takes no two for one name): component-base begins
// each with how stable it is.
func workqueue(style Style) []family {
	kubernetes := style == Kubernetes
	choose := func(here, there string) string {
		if kubernetes {
			return here
		}
		return there
	}
	var priority []string
	if !kubernetes {
		priority = []string{"priority"}
	}
	return []family{
		{
			name:   "workqueue_depth",
			help:   choose("[BETA] Current depth of workqueue", "Current depth of workqueue by workqueue and priority"),
			labels: priority,
			gauge:  func(s *shardq.Stats) float64 { return float64(s.Metrics.Depth) },
		},
		{
			name:    "workqueue_adds_total",
			help:    choose("[BETA] ", "") + "Total number of adds handled by workqueue",
			counter: func(s *shardq.Stats) uint64 { return s.Added },
		},
		{
			name: "workqueue_queue_duration_seconds",
			help: choose("[BETA] How long in seconds an item stays in workqueue before being requested.",
				"How long in seconds an item stays in workqueue before being requested"),
			histogram: func(m *shardq.Metrics) shardq.Histogram { return m.QueueDuration },
		},
		{
			name:      "workqueue_work_duration_seconds",
			help:      choose("[BETA] ", "") + "How long in seconds processing an item from workqueue takes.",
			histogram: func(m *shardq.Metrics) shardq.Histogram { return m.WorkDuration },
		},
		{
			name: "workqueue_unfinished_work_seconds",
			help: choose("[BETA] How many seconds of work has done that ", "How many seconds of work has been done that ") +
				"is in progress and hasn't been observed by work_duration. Large values indicate stuck threads. " +
				"One can deduce the number of stuck threads by observing the rate at which this increases.",
			gauge: func(s *shardq.Stats) float64 { return s.Metrics.Unfinished.Seconds() },
		},
		{
			name:  "workqueue_longest_running_processor_seconds",
			help:  choose("[BETA] ", "") + "How many seconds has the longest running processor for workqueue been running.",
			gauge: func(s *shardq.Stats) float64 { return s.Metrics.LongestRunning.Seconds() },
		},
		{
			name: "workqueue_retries_total",
			help: choose("[BETA] Total number of retries handled by workqueue",
				"Total number of items added to the workqueue with a non-zero delay (rate-limited requeues, explicit RequeueAfter or AddAfter calls)"),
			counter: func(s *shardq.Stats) uint64 { return s.Metrics.Retries },
		},
	}
}
