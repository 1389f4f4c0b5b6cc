package shardqprom

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/registry"
	"github.com/shardq/shardq/internal/series"
)

// A Collector shows queues to a registry. It reads them when it is asked to, by one call of Stats
// each, and does nothing in between: it has no goroutine, and the queues do not know of it. All
// methods are safe for concurrent use, and none holds a lock while a queue is read.
//
// A queue that is shut down and has nothing left to do disappears: the next scrape shows it no
// more, and the Collector lets go of it. What it counted since the scrape before is not shown.
// Until then the Collector keeps a queue from being collected as garbage, also one that is dropped
// without a shutdown: Remove it.
type Collector struct {
	registry  registry.Registry
	options   Options
	families  []family
	groups    *prometheus.Desc // nil if no groups are wanted
	failures  *prometheus.Desc
	described []*prometheus.Desc
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns a Collector of queues, to which [Collector.Add] adds more. The error names
// every fault of the options, or of the queues: see Add.
func NewCollector(options Options, queues ...shardq.Observable) (*Collector, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	c := &Collector{options: options}
	for _, f := range families(options.Style) {
		f.desc = c.newDesc(f.name, f.help, f.labels...)
		c.families = append(c.families, f)
	}
	c.failures = c.newDesc(nameOf(series.Failures), series.Failures.Text)
	if options.Groups > 0 {
		c.groups = c.newDesc(nameOf(series.GroupItems), series.GroupItems.Text, "group", "state")
	}
	if err := c.Add(queues...); err != nil {
		return nil, err
	}
	return c, nil
}

// newDesc describes series that have some labels beside those of the style.
func (c *Collector) newDesc(name, help string, more ...string) *prometheus.Desc {
	d := prometheus.NewDesc(name, help, append(c.options.Style.labels(), more...), nil)
	c.described = append(c.described, d)
	return d
}

// Add adds queues under their names: all of them, or none, and returns an error that names every
// fault. Each must be made with [shardq.Options].Metrics, and have a name that no other queue of
// this Collector has: two queues of one name would be one series, and fail the whole scrape. For
// queues whose names are empty or equal there is [Collector.AddAs]. The name of a queue that is
// closed is free again.
func (c *Collector) Add(queues ...shardq.Observable) error {
	return c.add(registry.RowsOf(queues)...)
}

// AddAs is [Collector.Add] of a queue under a name that need not be its own.
func (c *Collector) AddAs(name string, queue shardq.Observable) error {
	return c.add(&registry.Row{Name: name, Queue: queue})
}

func (c *Collector) add(rows ...*registry.Row) error {
	if err := c.registry.Add(rows...); err != nil {
		return fmt.Errorf("shardqprom: %w", err)
	}
	return nil
}

// Remove takes out the queue that was added under a name, and reports whether there was one. A
// scrape that is under way may still show it.
func (c *Collector) Remove(name string) bool { return c.registry.Remove(name) }

// Describe tells the registry which series there are, but see [Options].Unchecked.
func (c *Collector) Describe(descriptions chan<- *prometheus.Desc) {
	if c.options.Unchecked {
		return
	}
	for _, d := range c.described {
		descriptions <- d
	}
}

// Collect gives the registry the series. It locks the shards of each queue one after the other,
// briefly. If a queue panics, as its clock or its limiter may, that is counted, and the scrape goes
// on with the other queues.
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
	if c.groups != nil {
		c.collectGroups(r, names, metrics)
	}
}

// labels returns the labels of a family: the common ones, as a rule, and what it has beside is
// empty.
func (c *Collector) labels(f *family, common []*dto.LabelPair, names []string) []*dto.LabelPair {
	if len(f.labels) == 0 {
		return common
	}
	return prometheus.MakeLabelPairs(f.desc, append(names[:len(names):len(names)], make([]string, len(f.labels))...))
}
