package workqueue

import (
	"reflect"
	_ "unsafe" // for go:linkname

	"k8s.io/client-go/util/workqueue"
)

// These types are client-go's.
type (
	MetricsProvider     = workqueue.MetricsProvider
	GaugeMetric         = workqueue.GaugeMetric
	SettableGaugeMetric = workqueue.SettableGaugeMetric
	CounterMetric       = workqueue.CounterMetric
	SummaryMetric       = workqueue.SummaryMetric
	HistogramMetric     = workqueue.HistogramMetric
)

// SetProvider is client-go's: it sets the MetricsProvider of all queues that
// are made afterwards and name no other, there and here. Only the first call
// has an effect. controller-runtime's controllers have called it.
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
