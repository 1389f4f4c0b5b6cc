// Package series defines the metrics of a queue: the name, the description and
// the reader of each. The exporters for Prometheus and OpenTelemetry share it,
// so that they cannot differ.
package series

import (
	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/registry"
	"github.com/shardq/shardq/stats"
)

// A Description describes a metric.
type Description struct {
	Name string // of OpenTelemetry: words separated by dots, without the unit
	Unit string // s, or 1 for a ratio, or the counted thing, such as {item}
	Text string // without a full stop
	Kind Kind
}

// A Kind says how values may be combined.
type Kind int

const (
	Counter Kind = iota // values only rise, and may be added
	Level               // values rise and fall, and may be added
	Gauge               // values may not be added
)

// A Number is a metric with a single value per queue.
type Number struct {
	Description
	// Integer or Float reads the value, if Has reports true. One is nil.
	Integer func(s *shardq.Stats) int64
	Float   func(s *shardq.Stats) float64
	shown   func(r *registry.Reading) bool // if nil, all queues have the number
}

// Has reports whether the queue of a reading has the number.
func (n *Number) Has(r *registry.Reading) bool { return n.shown == nil || n.shown(r) }

func (n *Number) Value(s *shardq.Stats) float64 {
	if n.Integer != nil {
		return float64(n.Integer(s))
	}
	return n.Float(s)
}

// Sources are the metrics of each source of a Coalescer.
var Sources = []struct {
	Description
	Value func(s *stats.Source) float64
}{
	{
		Description{"shardq.source.read", "{offset}", "Last offset that was read of a source", Gauge},
		func(s *stats.Source) float64 { return float64(s.Read) },
	},
	{
		Description{"shardq.source.safe", "{offset}", "Offset of a source from which to read again after a crash", Gauge},
		func(s *stats.Source) float64 { return float64(s.Safe) },
	},
	{
		Description{"shardq.source.events", "{event}", "Events of a source that were read since the oldest that is not done", Level},
		func(s *stats.Source) float64 { return float64(s.Events) },
	},
	{
		Description{"shardq.source.oldest", "s", "Age of the oldest event of a source that is not done", Gauge},
		func(s *stats.Source) float64 { return s.Oldest.Seconds() },
	},
}

// A Histogram is a distribution of durations, in seconds, that all queues have.
type Histogram struct {
	Name, Text string
	Read       func(m *stats.Metrics) stats.Histogram
}

// The descriptions of [registry.Reading].Failures, of the numbers of a group,
// and of the attempts of workers by result.
var (
	Failures = Description{
		"shardq.failed.readings", "{reading}",
		"Readings of the queue that failed because its clock or its limiter panicked; a failed reading omits all other metrics",
		Counter,
	}
	GroupItems = Description{
		"shardq.group.items", "{item}",
		"Items of a group by state: ready, processing or delayed",
		Level,
	}
	Attempts = Description{
		"shardq.attempts", "{attempt}",
		"Attempts of workers by result: success, error, panic, timeout, requeue or discarded",
		Counter,
	}
	AttemptDuration = Description{
		"shardq.attempt.duration", "s",
		"Time that attempts of workers took, by result; missing for results that no attempt had",
		Gauge,
	}
	GroupAttempts = Description{
		"shardq.group.attempts", "{attempt}",
		"Attempts of workers at items of a group by result, of the groups with the most attempts; missing for results that no attempt had",
		Counter,
	}
)

var Histograms = []Histogram{
	{
		"workqueue.queue.duration", "Time from the first add that a run serves until Get returns the item",
		func(m *stats.Metrics) stats.Histogram { return m.QueueDuration },
	},
	{"workqueue.work.duration", "Time from Get to Done", func(m *stats.Metrics) stats.Histogram { return m.WorkDuration }},
	{"shardq.delay", "Requested delays", func(m *stats.Metrics) stats.Histogram { return m.Delay }},
}
