package main

import (
	"slices"
	"time"
)

// outcome is the result of all rounds of a case.
type outcome struct {
	Case    hostile
	Rounds  int
	targets []target
	rows    []string
	cells   map[place]*cell
	// promises has, for each promise, the round that was nearest to the bound.
	promises []kept
}

// place is the place of a cell in the table.
type place struct{ row, target string }

// cell has the figures of all rounds.
type cell struct {
	unit   unit
	values []float64
	calls  *latencies
	// steps has the least of all rounds for each step.
	steps []time.Duration
	over  bool
}

// kept is a promise to a target.
type kept struct {
	promise
	title string
}

func newOutcome(c hostile, targets []target) *outcome {
	return &outcome{Case: c, targets: targets, cells: map[place]*cell{}}
}

// add adds the figures of one round.
func (o *outcome) add(t target, f *figures) {
	for _, figure := range f.all {
		o.cell(t, figure).add(figure)
	}
	for _, p := range f.promises {
		o.hold(kept{p, t.title})
	}
}

// cell returns the cell of a figure. A new row is the last.
func (o *outcome) cell(t target, f figure) *cell {
	if !slices.Contains(o.rows, f.name) {
		o.rows = append(o.rows, f.name)
	}
	at := place{f.name, t.name}
	if o.cells[at] == nil {
		o.cells[at] = &cell{unit: f.unit, calls: new(latencies)}
	}
	return o.cells[at]
}

func (c *cell) add(f figure) {
	c.over = c.over || f.over
	switch f.unit {
	case calls:
		c.calls.merge(f.calls)
	case steps:
		c.leastOf(f.steps)
	default:
		c.values = append(c.values, f.value)
	}
}

func (c *cell) leastOf(each []time.Duration) {
	if c.steps == nil {
		c.steps = each
		return
	}
	c.steps = c.steps[:min(len(c.steps), len(each))]
	for i := range c.steps {
		c.steps[i] = min(c.steps[i], each[i])
	}
}

func (o *outcome) hold(p kept) {
	for i, q := range o.promises {
		if q.title == p.title && q.clause == p.clause && q.what == p.what {
			if p.measured/p.bound > q.measured/q.bound || !p.kept() {
				o.promises[i] = p
			}
			return
		}
	}
	o.promises = append(o.promises, p)
}

// stoppedOurs reports whether shardq was stopped in any round.
func (o *outcome) stoppedOurs() bool {
	for _, t := range o.targets {
		for _, row := range o.rows {
			if c := o.cells[place{row, t.name}]; t.engine == ours && c != nil && c.over {
				return true
			}
		}
	}
	return false
}

// columns returns the targets on which the case was tried.
func (o *outcome) columns() (tried []target) {
	for _, t := range o.targets {
		if slices.ContainsFunc(o.rows, func(row string) bool { return o.cells[place{row, t.name}] != nil }) {
			tried = append(tried, t)
		}
	}
	return tried
}

// Header and Table are for the document.
func (o *outcome) Header() []string {
	header := []string{""}
	for _, t := range o.columns() {
		header = append(header, t.title)
	}
	return header
}

// Table returns the rows of cells.
func (o *outcome) Table() (table [][]string) {
	for _, row := range o.rows {
		line := []string{row}
		for _, t := range o.columns() {
			line = append(line, o.cells[place{row, t.name}].String())
		}
		table = append(table, line)
	}
	return table
}
