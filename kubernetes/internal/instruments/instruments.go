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

// Of returns the instruments of a queue, with a depth by priority if the queue
// and the provider have one.
func Of(name string, p workqueue.MetricsProvider, priorities bool) queue.Instruments {
	to := queue.Instruments{
		Adds: p.NewAddsMetric(name), Retries: p.NewRetriesMetric(name),
		Latency: p.NewLatencyMetric(name), WorkDuration: p.NewWorkDurationMetric(name),
		Unfinished:     p.NewUnfinishedWorkSecondsMetric(name),
		LongestRunning: p.NewLongestRunningProcessorSecondsMetric(name),
	}
	by, ok := p.(interface {
		NewDepthMetricWithPriority(name string) DepthMetric
	})
	if ok && priorities {
		to.DepthByPriority = by.NewDepthMetricWithPriority(name)
	} else {
		to.Depth = p.NewDepthMetric(name)
	}
	return to
}
