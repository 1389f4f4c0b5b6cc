package kubernetes

import (
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/shardq/shardq/internal/series"
	"github.com/shardq/shardq/kubernetes/internal/instruments"
)

// A DepthMetric counts items by priority.
type DepthMetric = instruments.DepthMetric

// Metrics returns the provider of the workqueue_* metrics on
// controller-runtime's registry. It panics if that has others by these names.
var Metrics = sync.OnceValue(func() workqueue.MetricsProvider { return newProvider(metrics.Registry) })

type provider struct {
	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	latency, workDuration      *prometheus.HistogramVec
}

func newProvider(r prometheus.Registerer) *provider {
	labels := []string{"name", "controller"}
	opts := func(name string) prometheus.Opts {
		help := series.Helps[metrics.WorkQueueSubsystem+"_"+name][1]
		return prometheus.Opts{Subsystem: metrics.WorkQueueSubsystem, Name: name, Help: help}
	}
	gauge := func(name string, more ...string) *prometheus.GaugeVec {
		return registered(r, prometheus.NewGaugeVec(prometheus.GaugeOpts(opts(name)), append(labels[:2:2], more...)))
	}
	counter := func(name string) *prometheus.CounterVec {
		return registered(r, prometheus.NewCounterVec(prometheus.CounterOpts(opts(name)), labels))
	}
	histogram := func(name string) *prometheus.HistogramVec {
		return registered(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Subsystem: metrics.WorkQueueSubsystem, Name: name, Help: opts(name).Help,
			Buckets:                         prometheus.ExponentialBuckets(10e-9, 10, 12),
			NativeHistogramBucketFactor:     1.1,
			NativeHistogramMaxBucketNumber:  100,
			NativeHistogramMinResetDuration: time.Hour,
		}, labels))
	}
	// A metric is found again by its name, its labels and its help.
	return &provider{
		depth: gauge(metrics.DepthKey, "priority"), unfinished: gauge(metrics.UnfinishedWorkKey),
		longest: gauge(metrics.LongestRunningProcessorKey),
		adds:    counter(metrics.AddsKey), retries: counter(metrics.RetriesKey),
		latency: histogram(metrics.QueueLatencyKey), workDuration: histogram(metrics.WorkDurationKey),
	}
}

func registered[C prometheus.Collector](r prometheus.Registerer, c C) C {
	err := r.Register(c)
	if already, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		return already.ExistingCollector.(C)
	}
	if err != nil {
		panic("kubernetes: " + err.Error())
	}
	return c
}

func (p *provider) NewDepthMetric(name string) workqueue.GaugeMetric {
	return p.depth.WithLabelValues(name, name, "")
}
func (p *provider) NewDepthMetricWithPriority(name string) DepthMetric {
	return &depthByPriority{of: p.depth, name: name, gauges: map[int]prometheus.Gauge{}}
}

func (p *provider) NewAddsMetric(name string) workqueue.CounterMetric {
	return p.adds.WithLabelValues(name, name)
}

func (p *provider) NewLatencyMetric(n string) workqueue.HistogramMetric {
	return p.latency.WithLabelValues(n, n)
}

func (p *provider) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return p.workDuration.WithLabelValues(name, name)
}

func (p *provider) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return p.unfinished.WithLabelValues(name, name)
}

func (p *provider) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return p.longest.WithLabelValues(name, name)
}

func (p *provider) NewRetriesMetric(name string) workqueue.CounterMetric {
	return p.retries.WithLabelValues(name, name)
}

const mostPriorities = 25 // with a gauge each

// The first priorities have a gauge each, for good, and the others share one.
type depthByPriority struct {
	of     *prometheus.GaugeVec
	name   string
	mu     sync.Mutex
	gauges map[int]prometheus.Gauge
}

func (d *depthByPriority) Inc(priority int) { d.gauge(priority).Inc() }
func (d *depthByPriority) Dec(priority int) { d.gauge(priority).Dec() }

// To search the GaugeVec each time would cost more than the rest of an add.
func (d *depthByPriority) gauge(priority int) prometheus.Gauge {
	d.mu.Lock()
	defer d.mu.Unlock()
	g, known := d.gauges[priority]
	if !known {
		label := "exceeded_cardinality_limit"
		if len(d.gauges) < mostPriorities {
			label = strconv.Itoa(priority)
		}
		if g = d.of.WithLabelValues(d.name, d.name, label); len(d.gauges) < mostPriorities {
			d.gauges[priority] = g
		}
	}
	return g
}
