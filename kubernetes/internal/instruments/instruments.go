// Package instruments makes instruments of client-go's MetricsProvider.
package instruments

import (
	"k8s.io/client-go/util/workqueue"

	"github.com/shardq/shardq/kubernetes/queue"
)

// A DepthMetric counts items by priority.
type DepthMetric interface {
	Inc(priority int)
	Dec(priority int)
}

// Of returns the instruments of a queue. byPriority may be nil.
func Of(name string, p workqueue.MetricsProvider, byPriority DepthMetric) queue.Instruments {
	to := queue.Instruments{
		DepthByPriority: byPriority, Adds: p.NewAddsMetric(name), Retries: p.NewRetriesMetric(name),
		Latency: p.NewLatencyMetric(name), WorkDuration: p.NewWorkDurationMetric(name),
		Unfinished:     p.NewUnfinishedWorkSecondsMetric(name),
		LongestRunning: p.NewLongestRunningProcessorSecondsMetric(name),
	}
	if byPriority == nil {
		to.Depth = p.NewDepthMetric(name)
	}
	return to
}
