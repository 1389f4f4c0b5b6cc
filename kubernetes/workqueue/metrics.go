package workqueue

import (
	"sync/atomic"

	"k8s.io/client-go/util/workqueue"
)

type (
	// MetricsProvider is client-go's.
	MetricsProvider = workqueue.MetricsProvider
	// GaugeMetric is client-go's.
	GaugeMetric = workqueue.GaugeMetric
	// SettableGaugeMetric is client-go's.
	SettableGaugeMetric = workqueue.SettableGaugeMetric
	// CounterMetric is client-go's.
	CounterMetric = workqueue.CounterMetric
	// SummaryMetric is client-go's.
	SummaryMetric = workqueue.SummaryMetric
	// HistogramMetric is client-go's.
	HistogramMetric = workqueue.HistogramMetric
)

// registered is the provider that SetProvider was called with first.
var registered provider

type provider struct {
	p atomic.Pointer[MetricsProvider]
}

func (r *provider) Load() MetricsProvider {
	if p := r.p.Load(); p != nil {
		return *p
	}
	return nil
}

// SetProvider sets the MetricsProvider of all queues of this package that are
// made afterwards and name no other. Only the first call has an effect.
// client-go's own queues have a provider of their own.
func SetProvider(p MetricsProvider) { registered.p.CompareAndSwap(nil, &p) }
