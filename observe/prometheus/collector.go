package shardqprom

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/registry"
	"github.com/shardq/shardq/internal/series"
)

// A Collector exports queues to a registry. Each scrape calls Stats once for
// each queue. All methods are safe for concurrent use, and none holds a lock
// while it reads a queue.
//
// A queue that is shut down and empty disappears from the next scrape, without
// the events since the previous one. Until then, the Collector keeps it in
// memory. For a queue that is dropped without a shutdown, call Remove.
type Collector struct {
	registry  registry.Registry
	options   Options
	described []*prometheus.Desc
	// numbers and histograms are those of package series, in its order.
	numbers, histograms []*prometheus.Desc
	failures            *prometheus.Desc
	sources             []*prometheus.Desc
	attempts, durations *prometheus.Desc
	groups, groupCounts *prometheus.Desc // nil without groups
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns a Collector of queues, or an error that lists every
// fault of the options, or of the queues: see [Collector.Add].
func NewCollector(options Options, queues ...shardq.Inspector) (*Collector, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	c := &Collector{registry: registry.Registry{Exporter: "shardqprom"}, options: options}
	for _, n := range series.Numbers {
		c.numbers = append(c.numbers, c.describe(nameOf(n.Description), n.Text))
	}
	for _, h := range series.Histograms {
		c.histograms = append(c.histograms, c.describe(nameOf(series.Description{Name: h.Name, Unit: "s", Kind: series.Gauge}), h.Text))
	}
	c.failures = c.describe(nameOf(series.Failures), series.Failures.Text)
	c.attempts = c.describe(nameOf(series.Attempts), series.Attempts.Text, "result")
	c.durations = c.describe(nameOf(series.AttemptDuration), series.AttemptDuration.Text, "result")
	for _, s := range series.Sources {
		c.sources = append(c.sources, c.describe(nameOf(s.Description), s.Text, "source"))
	}
	if options.Groups > 0 {
		c.groups = c.describe(nameOf(series.GroupItems), series.GroupItems.Text, "group", "state")
		c.groupCounts = c.describe(nameOf(series.GroupAttempts), series.GroupAttempts.Text, "group", "result")
	}
	if err := c.Add(queues...); err != nil {
		return nil, err
	}
	return c, nil
}

// describe describes series with the labels of the style and more. Those of
// client-go have the style's own text.
func (c *Collector) describe(name, help string, more ...string) *prometheus.Desc {
	if theirs, ok := series.Helps[name]; ok {
		help = theirs[c.options.Style]
	}
	if name == "workqueue_depth" && c.options.Style == ControllerRuntime {
		more = append(more, "priority")
	}
	d := prometheus.NewDesc(name, help, append(c.options.Style.labels(), more...), nil)
	c.described = append(c.described, d)
	return d
}

func nameOf(d series.Description) string {
	name := strings.ReplaceAll(d.Name, ".", "_")
	switch d.Unit {
	case "s":
		name += "_seconds"
	case "1":
		name += "_ratio"
	}
	if d.Kind == series.Counter {
		name += "_total"
	}
	return name
}

// Add adds queues under their names. It adds all of them, or returns an error
// that lists every fault and adds none. Each must have [shardq.Options].Metrics
// set, and a name that no other open queue of this Collector has.
func (c *Collector) Add(queues ...shardq.Inspector) error {
	return c.registry.Add(registry.RowsOf(queues)...)
}

// AddAs adds a queue as [Collector.Add] does, under a given name.
func (c *Collector) AddAs(name string, queue shardq.Inspector) error {
	return c.registry.Add(&registry.Row{Name: name, Queue: queue})
}

// Remove removes the queue of a name, and reports whether there was one.
func (c *Collector) Remove(name string) bool { return c.registry.Remove(name) }

// Describe sends the descriptions of all series, or none with
// [Options].Unchecked.
func (c *Collector) Describe(descriptions chan<- *prometheus.Desc) {
	if c.options.Unchecked {
		return
	}
	for _, d := range c.described {
		descriptions <- d
	}
}

// Collect sends the series. If reading a queue panics, because of its clock or
// its limiter, Collect counts the failure and continues.
func (c *Collector) Collect(metrics chan<- prometheus.Metric) {
	for _, reading := range c.registry.Read() {
		c.collect(&reading, metrics)
	}
}

func (c *Collector) collect(r *registry.Reading, metrics chan<- prometheus.Metric) {
	names := c.options.Style.values(r.Name)
	labels := func(d *prometheus.Desc, more ...string) []*dto.LabelPair {
		return prometheus.MakeLabelPairs(d, append(names[:len(names):len(names)], more...))
	}
	common := labels(c.failures) // which most series share
	send := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels []*dto.LabelPair) {
		metrics <- sample{d, labels, kind, value}
	}
	send(c.failures, prometheus.CounterValue, float64(r.Failures), common)
	if !r.Read {
		return
	}
	for i := range series.Numbers {
		n, d, of, kind := &series.Numbers[i], c.numbers[i], common, prometheus.GaugeValue
		if !n.Has(r) {
			continue
		}
		if n.Kind == series.Counter {
			kind = prometheus.CounterValue
		}
		if n.Name == "workqueue.depth" && c.options.Style == ControllerRuntime {
			of = labels(d, "") // of no priority
		}
		send(d, kind, n.Value(&r.Stats), of)
	}
	for i, h := range series.Histograms {
		metrics <- histogram{c.histograms[i], common, h.Read(r.Stats.Metrics)}
	}
	// The counters of all results exist from the beginning, so that their rates
	// are right. A histogram has many series, and appears with its first
	// attempt.
	for result, durations := range r.Stats.Metrics.Attempts.All() {
		of := labels(c.attempts, result.String())
		send(c.attempts, prometheus.CounterValue, float64(durations.Count), of)
		if durations.Count > 0 {
			metrics <- histogram{c.durations, of, *durations}
		}
	}
	for _, source := range r.Sources() {
		for i, s := range series.Sources {
			send(c.sources[i], prometheus.GaugeValue, s.Value(&source), labels(c.sources[i], source.Name))
		}
	}
	if c.groups == nil {
		return
	}
	for part, items := range r.Groups(c.options.Groups) {
		send(c.groups, prometheus.GaugeValue, float64(items), labels(c.groups, part.Group, part.Of))
	}
	for part, attempts := range r.GroupAttempts(c.options.Groups) {
		send(c.groupCounts, prometheus.CounterValue, float64(attempts), labels(c.groupCounts, part.Group, part.Of))
	}
}

// A sample is one number. Unlike those of client_golang, the samples of a queue
// share their labels, which a scrape makes once.
type sample struct {
	desc   *prometheus.Desc
	labels []*dto.LabelPair
	kind   prometheus.ValueType
	value  float64
}

func (s sample) Desc() *prometheus.Desc { return s.desc }

func (s sample) Write(out *dto.Metric) error {
	out.Label = s.labels
	if s.kind == prometheus.CounterValue {
		out.Counter = &dto.Counter{Value: &s.value}
	} else {
		out.Gauge = &dto.Gauge{Value: &s.value}
	}
	return nil
}
