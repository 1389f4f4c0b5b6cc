package workqueue

import (
	"reflect"
	_ "unsafe" // for go:linkname

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

// SetProvider is client-go's: it sets the MetricsProvider of all queues that
// are made afterwards and name no other, those of client-go among them. Only
// the first call has an effect, there or here. A program that imports
// controller-runtime's controllers, or metrics/prometheus/workqueue of
// component-base, has called it.
func SetProvider(p MetricsProvider) { workqueue.SetProvider(p) }

// globalMetricsProvider is client-go's variable, which it does not export. If a
// version of client-go has none of this name, it is nil.
//
//go:linkname globalMetricsProvider k8s.io/client-go/util/workqueue.globalMetricsProvider
var globalMetricsProvider MetricsProvider

// noProvider is the type of what client-go has before SetProvider is called.
const noProvider = "noopMetricsProvider"

// setProvider returns the provider that SetProvider has set, or nil.
func setProvider() MetricsProvider {
	if p := globalMetricsProvider; p != nil && reflect.TypeOf(p).Name() != noProvider {
		return p
	}
	return nil
}
