package shardqprom

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/roster"
)

// A family is a series, of each queue one.
type family struct {
	name, help string
	// labels are what it has beside the common ones: there for the looks only, and empty.
	labels []string
	// shown reports whether a queue has the series; nil if all have it.
	shown func(r *roster.Reading) bool
	// counter or gauge or histogram reads it: one of them is set.
	counter   func(s *shardq.Stats) uint64
	gauge     func(s *shardq.Stats) float64
	histogram func(m *shardq.Metrics) shardq.Histogram
	desc      *prometheus.Desc
}

// metric returns the series of a queue.
func (f *family) metric(r *roster.Reading, labels []*dto.LabelPair) prometheus.Metric {
	switch {
	case f.counter != nil:
		return sample{f.desc, labels, prometheus.CounterValue, float64(f.counter(&r.Stats))}
	case f.gauge != nil:
		return sample{f.desc, labels, prometheus.GaugeValue, f.gauge(&r.Stats)}
	default:
		return histogram{f.desc, labels, f.histogram(r.Stats.Metrics)}
	}
}

// A sample is one number. Other than the constant metrics of client_golang, those of a queue share
// their labels, so that a scrape makes them once.
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

// families returns all series of a queue, but for those of its groups.
func families(style Style) []family {
	return append(workqueue(style), beyond...)
}
