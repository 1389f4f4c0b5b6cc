package kubernetes

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/shardq/shardq/internal/series"
	"github.com/shardq/shardq/kubernetes/internal/instruments"
)

// A DepthMetric counts items by priority.
type DepthMetric = instruments.DepthMetric

// Metrics returns the provider of the workqueue_* metrics on controller-runtime's
// registry: it writes to controller-runtime's collectors. If the registry has other
// collectors by these names, or with other labels, the provider logs that once, and
// writes to metrics named shardq_workqueue_* instead.
func Metrics() workqueue.MetricsProvider { return onRegistry() }

var onRegistry = sync.OnceValue(func() workqueue.MetricsProvider { return newProvider(metrics.Registry) })

type provider struct {
	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	latency, workDuration      *prometheus.HistogramVec
}

func newProvider(r prometheus.Registerer) *provider {
	p, err := collectorsOf(r, metrics.WorkQueueSubsystem)
	if err == nil {
		return p
	}
	const own = "shardq_" + metrics.WorkQueueSubsystem
	log.Log.WithName("shardq").Error(err, "the workqueue metrics of these queues have other names, or none", "prefix", own)
	if !errors.Is(err, errNotDescribed) {
		p, err = collectorsOf(r, own)
	}
	if err != nil { // a queue never stops a manager for its metrics
		p, _ = collectorsOf(prometheus.NewRegistry(), own)
	}
	return p
}

// collectorsOf returns the registered collectors, or registers its own.
func collectorsOf(r prometheus.Registerer, subsystem string) (*provider, error) {
	helps, err := helpsOf(r)
	if err != nil {
		return nil, err // it holds the registry's lock, so nothing can be registered either
	}
	c := collectors{to: r, subsystem: subsystem, helps: helps}
	p := &provider{
		depth: c.gauge(metrics.DepthKey, "priority"), unfinished: c.gauge(metrics.UnfinishedWorkKey),
		longest: c.gauge(metrics.LongestRunningProcessorKey),
		adds:    c.counter(metrics.AddsKey), retries: c.counter(metrics.RetriesKey),
		latency: c.histogram(metrics.QueueLatencyKey), workDuration: c.histogram(metrics.WorkDurationKey),
	}
	return p, errors.Join(c.faults...)
}

// longestDescribe bounds the wait for the collectors of others.
const longestDescribe = time.Second

var errNotDescribed = errors.New("the registered collectors do not describe themselves in time")

// helpsOf returns the texts of the registered metrics. A collector is found again by
// its name, its labels and its text, and controller-runtime changes its texts.
func helpsOf(r prometheus.Registerer) (helps map[string]string, err error) {
	registered, ok := r.(prometheus.Collector)
	if !ok {
		return nil, nil
	}
	found := make(chan map[string]string, 1)
	go func() { found <- described(registered) }()
	select {
	case helps = <-found:
		return helps, nil
	case <-time.After(longestDescribe):
		return nil, errNotDescribed
	}
}

func described(registered prometheus.Collector) map[string]string {
	helps, descs := map[string]string{}, make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		defer func() { _ = recover() }() // of a collector that is not ours
		registered.Describe(descs)
	}()
	for d := range descs {
		text, _ := strings.CutPrefix(d.String(), "Desc{fqName: ")
		name, rest, err := cutQuoted(text)
		if err != nil {
			continue
		}
		rest, _ = strings.CutPrefix(rest, ", help: ")
		if help, _, err := cutQuoted(rest); err == nil {
			helps[name] = help
		}
	}
	return helps
}

func cutQuoted(text string) (value, rest string, err error) {
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", text, err
	}
	value, err = strconv.Unquote(quoted)
	return value, text[len(quoted):], err
}

type collectors struct {
	to        prometheus.Registerer
	subsystem string
	helps     map[string]string
	faults    []error
}

func (c *collectors) opts(name string) prometheus.Opts {
	full := prometheus.BuildFQName("", c.subsystem, name)
	help, known := c.helps[full]
	if !known {
		help = series.Helps[metrics.WorkQueueSubsystem+"_"+name][1]
	}
	return prometheus.Opts{Subsystem: c.subsystem, Name: name, Help: help}
}

func (c *collectors) gauge(name string, more ...string) *prometheus.GaugeVec {
	return registered(c, prometheus.NewGaugeVec(prometheus.GaugeOpts(c.opts(name)), append(labels(), more...)))
}

func (c *collectors) counter(name string) *prometheus.CounterVec {
	return registered(c, prometheus.NewCounterVec(prometheus.CounterOpts(c.opts(name)), labels()))
}

func (c *collectors) histogram(name string) *prometheus.HistogramVec {
	return registered(c, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Subsystem: c.subsystem, Name: name, Help: c.opts(name).Help,
		Buckets:                         prometheus.ExponentialBuckets(10e-9, 10, 12),
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  100,
		NativeHistogramMinResetDuration: time.Hour,
	}, labels()))
}

func labels() []string { return []string{"name", "controller"} }

func registered[C prometheus.Collector](to *collectors, c C) C {
	err := to.to.Register(c)
	if already, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if existing, ok := already.ExistingCollector.(C); ok {
			return existing
		}
	}
	if err != nil {
		to.faults = append(to.faults, err)
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

func (d *depthByPriority) Add(priority, by int) { d.gauge(priority).Add(float64(by)) }

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
