package shardqprom

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/shardq/shardq/internal/registry"
	"github.com/shardq/shardq/internal/series"
)

// A family is a series with a name, which each queue has.
type family struct {
	name, help string
	// labels are those beside the common ones. They are empty, and exist only
	// because the style has them.
	labels []string
	// Either number or histogram is set.
	number    *series.Number
	histogram *series.Histogram
	desc      *prometheus.Desc
}

// families returns all series of a queue without its groups. The descs are not
// set.
func families(style Style) []family {
	var all []family
	for i := range series.Numbers {
		n := &series.Numbers[i]
		all = append(all, family{name: nameOf(n.Description), help: n.Text, number: n})
	}
	for i := range series.Histograms {
		h := &series.Histograms[i]
		all = append(all, family{name: underscored(h.Name) + "_seconds", help: h.Text, histogram: h})
	}
	for i := range all {
		f := &all[i]
		if theirs, ok := workqueue[f.name]; ok {
			f.help, f.labels = theirs.help[style], theirs.labels[style]
		}
	}
	return all
}

// nameOf translates a name by the rules of OpenTelemetry for Prometheus: the
// name ends with its unit, and that of a counter with total.
func nameOf(d series.Description) string {
	name := underscored(d.Name)
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

func underscored(name string) string { return strings.ReplaceAll(name, ".", "_") }

// has reports whether a queue has the series.
func (f *family) has(r *registry.Reading) bool { return f.number == nil || f.number.Has(r) }

// metric returns the series of a queue.
func (f *family) metric(r *registry.Reading, labels []*dto.LabelPair) prometheus.Metric {
	if f.histogram != nil {
		return histogram{f.desc, labels, f.histogram.Read(r.Stats.Metrics)}
	}
	kind := prometheus.GaugeValue
	if f.number.Kind == series.Counter {
		kind = prometheus.CounterValue
	}
	return sample{f.desc, labels, kind, f.number.Value(&r.Stats)}
}

// A sample is one number. Unlike the constant metrics of client_golang, the
// samples of a queue share their labels, so that a scrape makes these once.
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
