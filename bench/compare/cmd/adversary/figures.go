package main

import "time"

// A figure is one measurement.
type figure struct {
	name  string
	unit  unit
	value float64
	// calls is the value of a figure whose unit is calls.
	calls *latencies
	// steps is the value of a figure whose unit is steps: how long each of them
	// took. The steps are the same in every round.
	steps []time.Duration
	// over reports whether the queue was stopped after value, a duration.
	over bool
}

type unit int

const (
	duration unit = iota // in nanoseconds
	bytes
	count
	ratio
	calls
	steps
)

// A promise is a bound that a clause of docs/reference/semantics.md sets for a
// measurement.
type promise struct {
	clause, what    string
	unit            unit
	bound, measured float64
}

func (p promise) kept() bool { return p.measured <= p.bound }

// figures are the measurements of a case on a target, in one round.
type figures struct {
	target   target
	all      []figure
	promises []promise
}

func newFigures(t target) *figures { return &figures{target: t} }

func (f *figures) add(name string, u unit, value float64) {
	f.all = append(f.all, figure{name: name, unit: u, value: value})
}

func (f *figures) took(name string, d time.Duration) { f.add(name, duration, float64(d)) }

// each records a duration for each of n items.
func (f *figures) each(name string, d time.Duration, n int) {
	f.add(name, duration, float64(d)/float64(n))
}

func (f *figures) calls(name string, l *latencies) {
	f.all = append(f.all, figure{name: name, unit: calls, calls: l})
}

func (f *figures) steps(name string, each []time.Duration) {
	f.all = append(f.all, figure{name: name, unit: steps, steps: each})
}

// wasStopped records that the queue was stopped.
func (f *figures) wasStopped(name string, after time.Duration) {
	f.all = append(f.all, figure{name: name, unit: duration, value: float64(after), over: true})
}

// promised compares shardq with a bound. Other targets have promised nothing.
func (f *figures) promised(clause, what string, u unit, bound, measured float64) {
	if f.target.engine == ours {
		f.promises = append(f.promises, promise{clause, what, u, bound, measured})
	}
}

// bounded is add and promised in one.
func (f *figures) bounded(clause, name string, u unit, bound, measured float64) {
	f.add(name, u, measured)
	f.promised(clause, name, u, bound, measured)
}
