package shardqprom

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/registry"
	"github.com/shardq/shardq/internal/series"
)

// A Collector exports queues to a registry. Each scrape calls Stats once for
// each queue. Between scrapes the Collector does nothing: it has no goroutine,
// and the queues do not know it. All methods are safe for concurrent use, and
// none holds a lock while it reads a queue.
//
// A queue that is shut down and empty disappears from the next scrape, and the
// Collector drops its reference. Events since the previous scrape are not
// exported. Until then the Collector keeps the queue alive, also if the program
// drops it without a shutdown: call Remove.
type Collector struct {
	registry  registry.Registry
	options   Options
	families  []family
	groups    *prometheus.Desc // nil without groups
	failures  *prometheus.Desc
	attempts  attempts
	described []*prometheus.Desc
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns a Collector of queues. [Collector.Add] adds more. The
// error lists every fault of the options, or of the queues: see Add.
func NewCollector(options Options, queues ...shardq.Inspector) (*Collector, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	c := &Collector{options: options}
	for _, f := range families(options.Style) {
		f.desc = c.newDesc(f.name, f.help, f.labels...)
		c.families = append(c.families, f)
	}
	c.failures = c.newDesc(nameOf(series.Failures), series.Failures.Text)
	c.describeAttempts()
	if options.Groups > 0 {
		c.groups = c.newDesc(nameOf(series.GroupItems), series.GroupItems.Text, "group", "state")
	}
	if err := c.Add(queues...); err != nil {
		return nil, err
	}
	return c, nil
}

// newDesc describes series with the labels of the style and more labels.
func (c *Collector) newDesc(name, help string, more ...string) *prometheus.Desc {
	d := prometheus.NewDesc(name, help, append(c.options.Style.labels(), more...), nil)
	c.described = append(c.described, d)
	return d
}

// Add adds queues under their names. It adds all of them, or returns an error
// that lists every fault and adds none. Each queue must have
// [shardq.Options].Metrics set, and a name that no other queue of this
// Collector has. Two queues of one name would be one series, and fail the whole
// scrape. [Collector.AddAs] adds queues whose names are empty or equal. The
// name of a queue that is shut down and empty is free again.
func (c *Collector) Add(queues ...shardq.Inspector) error {
	return c.add(registry.RowsOf(queues)...)
}

// AddAs adds a queue as [Collector.Add] does, under a given name in place of
// its own.
func (c *Collector) AddAs(name string, queue shardq.Inspector) error {
	return c.add(&registry.Row{Name: name, Queue: queue})
}

func (c *Collector) add(rows ...*registry.Row) error {
	if err := c.registry.Add(rows...); err != nil {
		return fmt.Errorf("shardqprom: %w", err)
	}
	return nil
}

// Remove removes the queue that was added under a name, and reports whether
// there was one. A scrape in progress may still export it.
func (c *Collector) Remove(name string) bool { return c.registry.Remove(name) }

// Describe sends the descriptions of all series to the registry. With
// [Options].Unchecked it sends none.
func (c *Collector) Describe(descriptions chan<- *prometheus.Desc) {
	if c.options.Unchecked {
		return
	}
	for _, d := range c.described {
		descriptions <- d
	}
}

// Collect sends the series to the registry. It locks the shards of each queue
// one after the other, briefly. If reading a queue panics, because of its clock
// or its limiter, Collect counts the failure and continues with the other
// queues.
func (c *Collector) Collect(metrics chan<- prometheus.Metric) {
	for _, reading := range c.registry.Read() {
		c.collect(&reading, metrics)
	}
}

func (c *Collector) collect(r *registry.Reading, metrics chan<- prometheus.Metric) {
	names := c.options.Style.values(r.Name)
	common := prometheus.MakeLabelPairs(c.failures, names)
	metrics <- sample{c.failures, common, prometheus.CounterValue, float64(r.Failures)}
	if !r.Read {
		return
	}
	for i := range c.families {
		f := &c.families[i]
		if f.has(r) {
			metrics <- f.metric(r, c.labels(f, common, names))
		}
	}
	c.collectAttempts(r, names, metrics)
	if c.groups != nil {
		c.collectGroups(r, names, metrics)
	}
}

// labels returns the labels of a family. Labels beyond the common ones are
// empty.
func (c *Collector) labels(f *family, common []*dto.LabelPair, names []string) []*dto.LabelPair {
	if len(f.labels) == 0 {
		return common
	}
	return prometheus.MakeLabelPairs(f.desc, append(names[:len(names):len(names)], make([]string, len(f.labels))...))
}
