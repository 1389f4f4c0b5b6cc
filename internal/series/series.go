// Package series has what is shown of each queue, number by number: what it is called, what it says,
// and how it is read. Prometheus and OpenTelemetry both show it, each in its own way, so that the two
// cannot come to differ.
package series

import (
	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/roster"
)

// A Description tells what something is that is shown.
type Description struct {
	// Name is that of OpenTelemetry: words divided by dots, without the unit.
	Name string
	// Unit is s, or 1 for a ratio, or what is counted, such as {item}.
	Unit string
	// Text says what it is, without a full stop.
	Text string
	// Kind says what can be done with it.
	Kind Kind
}

// A Kind says what can be done with numbers.
type Kind int

const (
	// Counter is the kind of what only rises, and can be added up.
	Counter Kind = iota
	// Level is the kind of what rises and falls, and can be added up.
	Level
	// Gauge is the kind of what cannot be added up.
	Gauge
)

// A Number is a number of each queue that has it.
type Number struct {
	Description
	// Integer or Float reads it: one of them is set. Only what Has says yes to may be read.
	Integer func(s *shardq.Stats) int64
	Float   func(s *shardq.Stats) float64
	// shown reports whether a queue has it; nil if all have it.
	shown func(r *roster.Reading) bool
}

// Has reports whether a queue that was read has the number.
func (n *Number) Has(r *roster.Reading) bool { return n.shown == nil || n.shown(r) }

// Value reads it as a floating-point number.
func (n *Number) Value(s *shardq.Stats) float64 {
	if n.Integer != nil {
		return float64(n.Integer(s))
	}
	return n.Float(s)
}

// A Histogram is a distribution of durations, in seconds, that all queues have.
type Histogram struct {
	Name, Text string
	Read       func(m *shardq.Metrics) shardq.Histogram
}

// Failures describes [roster.Reading].Failures, and GroupItems the numbers of a group.
var (
	Failures = Description{
		"shardq.failed.readings", "{reading}",
		"Readings of the queue that failed because its clock or its limiter panicked; all else of it is missing then",
		Counter,
	}
	GroupItems = Description{
		"shardq.group.items", "{item}",
		"Items of a group by what they are at: ready, processing or delayed",
		Level,
	}
)

// A Group is a number of a group's items that are at something.
type Group struct {
	Group, State string
	Items        int
}

// Groups returns the numbers of so many groups: see [roster.Reading.Groups].
func Groups(r *roster.Reading, limit int) []Group {
	var all []Group
	for group, g := range r.Groups(limit) {
		all = append(all,
			Group{group, "ready", g.Ready},
			Group{group, "processing", g.Processing},
			Group{group, "delayed", g.Held - g.Ready - g.Processing})
	}
	return all
}
