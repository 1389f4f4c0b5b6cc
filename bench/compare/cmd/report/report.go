package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardq/shardq/bench/compare/internal/document"
	"github.com/shardq/shardq/bench/compare/internal/plots"
)

// report collects the measurements, in the order of the document.
type report struct {
	scale    scale
	cpus     []int  // for the part that compares numbers of processors
	images   string // directory
	Machine  document.Machine
	Sections []*section
	Verdicts []verdict
	failed   []error // plots that could not be drawn
}

type section struct {
	Title, Text string
	Tables      []table
	Plots       []plotFile
}

type table struct {
	Caption string
	Header  []string
	Rows    [][]string
}

type plotFile struct{ Name, Title string }

func newReport(s scale, images string) *report {
	return &report{scale: s, images: images, Machine: document.DescribeMachine(command())}
}

// command returns the command line.
func command() string {
	return strings.Join(append([]string{"go run ./cmd/report"}, os.Args[1:]...), " ")
}

// Quick and Rounds are for the document.
func (r *report) Quick() bool { return r.scale.quick }

// Rounds is how often everything was measured.
func (r *report) Rounds() int { return r.scale.rounds }

// compare makes a comparison in all rounds, and records its floors.
func (r *report) compare(c comparison) outcome {
	return r.note(inRounds(c, r.scale.rounds))[0]
}

// note records the floors of outcomes.
func (r *report) note(outcomes ...outcome) []outcome {
	for _, o := range outcomes {
		r.Verdicts = append(r.Verdicts, o.verdicts()...)
	}
	return outcomes
}

// Reached returns the number of floors that were reached.
func (r *report) Reached() (n int) {
	for _, v := range r.Verdicts {
		if v.Reached == reached {
			n++
		}
	}
	return n
}

// Aims returns the number of floors with an aim.
func (r *report) Aims() (n int) {
	for _, v := range r.Verdicts {
		if v.aimed {
			n++
		}
	}
	return n
}

func (r *report) section(title, text string) {
	r.Sections = append(r.Sections, &section{Title: title, Text: text})
}

func (r *report) last() *section { return r.Sections[len(r.Sections)-1] }

func (r *report) addTable(t table) { r.last().Tables = append(r.last().Tables, t) }

// table shows the values of each outcome and, where it has them, the ratios of
// the peer to shardq and to the baseline.
func (r *report) table(caption string, outcomes ...outcome) {
	r.tableOfRatios(caption, peer, ratioColumns, outcomes...)
}

func (r *report) tableWithoutRatios(caption string, outcomes ...outcome) {
	r.tableOfRatios(caption, "", nil, outcomes...)
}

func (r *report) tableOfRatios(caption, dividend string, divisors []string, outcomes ...outcome) {
	names := subjectNames(outcomes)
	divisors = slices.DeleteFunc(slices.Clone(divisors), func(d string) bool { return !slices.Contains(names, d) })
	t := table{Caption: caption, Header: append([]string{"work"}, names...)}
	for _, divisor := range divisors {
		t.Header = append(t.Header, fmt.Sprintf("%s ÷ %s", dividend, divisor))
	}
	for _, o := range outcomes {
		row := []string{o.title}
		for _, name := range names {
			row = append(row, o.cell(name))
		}
		for _, divisor := range divisors {
			row = append(row, o.ratioCell(dividend, divisor))
		}
		t.Rows = append(t.Rows, row)
	}
	r.addTable(t)
}

// subjectNames returns the names of all subjects, each once, in order.
func subjectNames(outcomes []outcome) (names []string) {
	for _, o := range outcomes {
		for _, s := range o.subjects {
			if !slices.Contains(names, s.name) {
				names = append(names, s.name)
			}
		}
	}
	return names
}

func (o outcome) cell(subject string) string {
	if len(o.values[subject]) == 0 {
		return "–"
	}
	return spreadOf(o.values[subject]).String()
}

func (o outcome) ratioCell(dividend, divisor string) string {
	if len(o.values[dividend]) == 0 || len(o.values[divisor]) == 0 {
		return "–"
	}
	return "**" + spreadOf(ratios(o.values[dividend], o.values[divisor])).String() + "**"
}

func (r *report) plot(name, title string, axes figureAxes, lines curves) {
	err := plots.Draw(filepath.Join(r.images, name), title, axes, lines.Lines, colorOf)
	if err != nil {
		r.failed = append(r.failed, fmt.Errorf("plot %s: %w", name, err))
		return
	}
	r.last().Plots = append(r.last().Plots, plotFile{name, title})
}
