package main

import (
	_ "embed"
	"errors"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"strings"

	"github.com/shardq/shardq/bench/compare/internal/document"
	"github.com/shardq/shardq/bench/compare/internal/plots"
	"github.com/shardq/shardq/bench/sharedwrites"
)

//go:embed document.md.tmpl
var documentText string

var page = document.Parse(documentText)

// report has the contents of the document.
type report struct {
	Quick, Measured bool
	Machine         document.Machine
	own             measured
	// Transfer is the price of a transfer on this machine. onTwo is the
	// measurement on two of its cores. They are 0 and nil if it has one.
	Transfer float64
	onTwo    *measured
}

// describe describes this machine.
func (r *report) describe() {
	command := append([]string{"go run ./cmd/cores"}, os.Args[1:]...)
	r.Machine = document.DescribeMachine(strings.Join(command, " "))
}

func (r *report) write(file string) error {
	var text strings.Builder
	if err := page.Execute(&text, r); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(document.Wrap(text.String())), 0o644)
}

// Counts returns rows of writes by traffic, without features.
func (r *report) Counts() (rows [][]string) {
	for _, c := range sharedwrites.Counts() {
		if c.Feature == "" {
			rows = append(rows, append([]string{c.Traffic + ", " + c.Way, fmt.Sprint(c.Shards)}, cells(c)...))
		}
	}
	for _, c := range sharedwrites.ClientGo() {
		rows = append(rows, append([]string{c.Traffic + ", client-go", "–"}, cells(c)...))
	}
	return rows
}

// Features returns rows of writes to a near-empty queue, by feature.
func (r *report) Features() (rows [][]string) {
	for _, c := range sharedwrites.Counts() {
		if c.Feature != "" {
			rows = append(rows, append([]string{c.Feature, fmt.Sprint(c.Shards)}, cells(c)...))
		}
	}
	return rows
}

func cells(c sharedwrites.Count) (cells []string) {
	for _, x := range []float64{c.All, c.Some, c.Lane, c.Hottest, c.Locks} {
		cells = append(cells, document.Figure(x))
	}
	return cells
}

// Check returns rows with the predictions of the model for two cores here,
// beside the measurements.
func (r *report) Check() (rows [][]string) {
	if r.onTwo == nil {
		return nil
	}
	here := machine{group: 2, socket: 2, cores: 2, near: r.Transfer}
	for i, d := range designsFor(r.own, 2) {
		predicted := 1000 / d.throughput(here, 2)
		rows = append(rows, []string{
			d.name, document.Figure(d.own), document.Figure(d.transfers(2)), document.Figure(predicted),
			document.Figure(r.onTwo[i]), document.Figure(predicted / r.onTwo[i]), d.limit(here, 2),
		})
	}
	return rows
}

// A prediction is the table of a machine.
type prediction struct {
	Name, Source, Plot string
	Header             []string
	Rows               [][]string
}

// coreCounts are the numbers of cores in the tables.
var coreCounts = []int{1, 2, 4, 8, 16, 32, 64, 128}

// Predictions returns the tables of the machines.
func (r *report) Predictions() (all []prediction) {
	for i, m := range machines {
		p := prediction{Name: m.name, Source: m.source, Plot: plotName(i), Header: []string{"cores", "price, ns"}}
		for _, name := range names {
			p.Header = append(p.Header, name)
		}
		p.Header = append(p.Header, "full ÷ client-go", "near-empty ÷ client-go", "batches ÷ client-go, full")
		for _, cores := range coreCounts {
			if cores <= m.cores {
				p.Rows = append(p.Rows, r.predict(m, cores))
			}
		}
		all = append(all, p)
	}
	return all
}

func (r *report) predict(m machine, cores int) []string {
	row := []string{fmt.Sprint(cores), document.Figure(m.price(cores))}
	var rates [designs]float64
	for i, d := range designsFor(r.own, cores) {
		rates[i] = d.throughput(m, cores)
		cell := fmt.Sprintf("%s (%s)", document.Figure(rates[i]), d.limit(m, cores))
		if i >= peer {
			least := rates[i]
			rates[i] = d.still().throughput(m, cores)
			cell = document.Figure(least) + "–" + document.Figure(rates[i])
		}
		row = append(row, cell)
	}
	return append(row, document.Figure(rates[full]/rates[peer]), document.Figure(rates[nearEmpty]/rates[peerNearEmpty]),
		document.Figure(rates[batches]/rates[peer]))
}

func plotName(machine int) string { return fmt.Sprintf("cores-model-%d.svg", machine+1) }

// drawPlots draws a plot for each machine.
func (r *report) drawPlots(directory string) error {
	var failed []error
	for i, m := range machines {
		lines := plots.New()
		for _, cores := range coreCounts {
			if cores > m.cores {
				break
			}
			all := designsFor(r.own, cores)
			for _, d := range append(all[:peer+1], all[peer].still(), all[peerNearEmpty].still()) {
				rate := d.throughput(m, cores)
				lines.Add(d.name, float64(cores), rate, rate, rate)
			}
		}
		axes := plots.Axes{X: "cores", Y: "million items per second, by the model"}
		failed = append(failed, plots.Draw(filepath.Join(directory, plotName(i)), m.name, axes, lines, colorOf))
	}
	return errors.Join(failed...)
}

func colorOf(name string) color.Color {
	return map[string]color.Color{
		names[full]:          color.RGBA{R: 0x1a, G: 0x6f, B: 0xc4, A: 0xff},
		names[nearEmpty]:     color.RGBA{R: 0x17, G: 0xa0, B: 0xa0, A: 0xff},
		names[batches]:       color.RGBA{R: 0x55, G: 0x8b, B: 0x2f, A: 0xff},
		names[peer]:          color.RGBA{R: 0xd6, G: 0x3b, B: 0x2f, A: 0xff},
		names[peer] + atBest: color.RGBA{R: 0xe0, G: 0x9a, B: 0x1f, A: 0xff},
	}[name]
}

// OurLines and TheirLines are for the document.
func (r *report) OurLines() int   { return ourLines }
func (r *report) TheirLines() int { return theirLines }
