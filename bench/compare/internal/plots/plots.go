// Package plots draws curves with a logarithmic x axis as SVG.
package plots

import (
	"errors"
	"image/color"
	"io"
	"math"
	"os"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/shardq/shardq/bench/compare/internal/document"
)

// Axes are the labels of a plot.
type Axes struct{ X, Y string }

// Lines are the lines of a plot, by their names.
type Lines struct {
	names  []string
	points map[string]plotter.XYs
	ranges map[string]plotter.YErrors // of the points; none in a distribution
	share  bool                       // a distribution: y is a share
}

// New returns no lines.
func New() *Lines {
	return &Lines{points: map[string]plotter.XYs{}, ranges: map[string]plotter.YErrors{}}
}

// Add adds a point to a line. The measured values were between least and
// greatest.
func (l *Lines) Add(name string, x, y, least, greatest float64) {
	l.point(name, x, y)
	l.ranges[name] = append(l.ranges[name], struct{ Low, High float64 }{y - least, greatest - y})
}

// Distribution adds a line that shows the share of the increasing values that
// do not exceed x. Values below the least x of the logarithmic axis are shown
// there.
func (l *Lines) Distribution(name string, increasing []float64) {
	const least, points = 0.1, 200
	l.share = true
	for i := range points + 1 {
		q := float64(i) / points
		at := min(int(q*float64(len(increasing))), len(increasing)-1)
		l.point(name, max(increasing[at], least), q)
	}
}

func (l *Lines) point(name string, x, y float64) {
	if !slices.Contains(l.names, name) {
		l.names = append(l.names, name)
	}
	l.points[name] = append(l.points[name], plotter.XY{X: x, Y: y})
}

// Draw writes a plot to the file.
func Draw(file, title string, axes Axes, lines *Lines, colorOf func(name string) color.Color) error {
	plot.DefaultFont.Variant = "Sans"
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, axes.X, axes.Y
	p.X.Scale = plot.LogScale{}
	p.X.Tick.Marker = plot.ConstantTicks(xTicks(lines))
	p.Y.Tick.Marker = plot.TickerFunc(yTicks)
	p.Add(plotter.NewGrid())
	legend := plot.NewLegend()
	legend.Top, legend.Left, legend.Padding = true, true, vg.Millimeter
	for _, name := range lines.names {
		if err := addLine(p, &legend, name, lines, colorOf(name)); err != nil {
			return err
		}
	}
	p.Y.Min = 0
	return save(p, legend, file)
}

// save puts the legend beside the plot, so that it hides nothing.
func save(p *plot.Plot, legend plot.Legend, file string) error {
	const width, height, beside, margin = 22 * vg.Centimeter, 11 * vg.Centimeter, 5 * vg.Centimeter, 3 * vg.Millimeter
	picture := vgsvg.New(width, height)
	whole := draw.New(picture)
	whole.SetColor(color.White)
	whole.Fill(whole.Rectangle.Path())
	p.Draw(draw.Crop(whole, margin, -beside-margin, margin, -margin))
	legend.Draw(draw.Crop(whole, width-beside, 0, 0, -height/8))
	return writeFile(file, picture)
}

func writeFile(name string, content io.WriterTo) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = content.WriteTo(file)
	return errors.Join(err, file.Close())
}

func addLine(p *plot.Plot, legend *plot.Legend, name string, lines *Lines, c color.Color) error {
	line, err := plotter.NewLine(lines.points[name])
	if err != nil {
		return err
	}
	line.Color, line.Width = c, vg.Points(1.5)
	p.Add(line)
	legend.Add(name, line)
	if lines.share {
		return nil
	}
	return addPoints(p, name, lines, c)
}

func addPoints(p *plot.Plot, name string, lines *Lines, c color.Color) error {
	points := struct {
		plotter.XYs
		plotter.YErrors
	}{lines.points[name], lines.ranges[name]}
	bars, err := plotter.NewYErrorBars(points)
	if err != nil {
		return err
	}
	bars.Color = c
	scatter, err := plotter.NewScatter(points.XYs)
	if err != nil {
		return err
	}
	scatter.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}
	p.Add(bars, scatter)
	return nil
}

// yTicks are the usual ticks, with numbers as in the documents.
func yTicks(least, greatest float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(least, greatest)
	for i, tick := range ticks {
		if tick.Label != "" {
			ticks[i].Label = document.Figure(tick.Value)
		}
	}
	return ticks
}

// xTicks marks the x of every point, or the powers of ten if there are many.
func xTicks(lines *Lines) (ticks []plot.Tick) {
	var xs []float64
	for _, points := range lines.points {
		for _, point := range points {
			xs = append(xs, point.X)
		}
	}
	slices.Sort(xs)
	xs = slices.Compact(xs)
	if len(xs) > 12 {
		xs = powersOfTen(xs[0], xs[len(xs)-1])
	}
	for _, x := range xs {
		ticks = append(ticks, plot.Tick{Value: x, Label: document.Figure(x)})
	}
	return ticks
}

func powersOfTen(least, greatest float64) (powers []float64) {
	first, last := math.Floor(math.Log10(least)+1e-9), math.Ceil(math.Log10(greatest))
	for exponent := first; exponent <= last; exponent++ {
		powers = append(powers, math.Pow(10, exponent))
	}
	return powers
}
