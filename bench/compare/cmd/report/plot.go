package main

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
)

type figureAxes struct{ x, y string }

// curves are the lines of a plot, by the name of their subject.
type curves struct {
	names  []string
	points map[string]plotter.XYs
	ranges map[string]plotter.YErrors // of the points; none in a distribution
	share  bool                       // a distribution: y is a share
}

func newCurves() *curves {
	return &curves{points: map[string]plotter.XYs{}, ranges: map[string]plotter.YErrors{}}
}

// add adds a point at x to each subject's line.
func (c *curves) add(x float64, o outcome) {
	for _, s := range o.subjects {
		y := spreadOf(o.values[s.name])
		c.point(s.name, x, y.median)
		c.ranges[s.name] = append(c.ranges[s.name], struct{ Low, High float64 }{y.median - y.least, y.greatest - y.median})
	}
}

// distribution adds a line that tells which share of the increasing values is no
// greater than x. What is below the least x of the logarithmic axis shows there.
func (c *curves) distribution(name string, increasing []float64) {
	const least, points = 0.1, 200
	c.share = true
	for i := range points + 1 {
		q := float64(i) / points
		at := min(int(q*float64(len(increasing))), len(increasing)-1)
		c.point(name, max(increasing[at], least), q)
	}
}

func (c *curves) point(name string, x, y float64) {
	if !slices.Contains(c.names, name) {
		c.names = append(c.names, name)
	}
	c.points[name] = append(c.points[name], plotter.XY{X: x, Y: y})
}

// drawCurves writes a plot with a logarithmic x axis to the file.
func drawCurves(file, title string, axes figureAxes, lines *curves) error {
	plot.DefaultFont.Variant = "Sans"
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, axes.x, axes.y
	p.X.Scale = plot.LogScale{}
	p.X.Tick.Marker = plot.ConstantTicks(xTicks(lines))
	p.Y.Tick.Marker = plot.TickerFunc(yTicks)
	p.Add(plotter.NewGrid())
	legend := plot.NewLegend()
	legend.Top, legend.Left, legend.Padding = true, true, vg.Millimeter
	for _, name := range lines.names {
		if err := addCurve(p, &legend, name, lines); err != nil {
			return err
		}
	}
	p.Y.Min = 0
	return save(p, legend, file)
}

// save puts the legend beside the plot, where it hides nothing.
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

func addCurve(p *plot.Plot, legend *plot.Legend, name string, lines *curves) error {
	line, err := plotter.NewLine(lines.points[name])
	if err != nil {
		return err
	}
	line.Color, line.Width = colorOf(name), vg.Points(1.5)
	p.Add(line)
	legend.Add(name, line)
	if lines.share {
		return nil
	}
	return addPoints(p, name, lines)
}

func addPoints(p *plot.Plot, name string, lines *curves) error {
	points := struct {
		plotter.XYs
		plotter.YErrors
	}{lines.points[name], lines.ranges[name]}
	bars, err := plotter.NewYErrorBars(points)
	if err != nil {
		return err
	}
	bars.Color = colorOf(name)
	scatter, err := plotter.NewScatter(points.XYs)
	if err != nil {
		return err
	}
	scatter.GlyphStyle = draw.GlyphStyle{Color: colorOf(name), Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}
	p.Add(bars, scatter)
	return nil
}

// colorOf gives each engine the same colour in all plots.
func colorOf(name string) color.Color {
	switch name {
	case defaultShardq, "shardq":
		return color.RGBA{R: 0x1a, G: 0x6f, B: 0xc4, A: 0xff}
	case oneShard:
		return color.RGBA{R: 0x17, G: 0xa0, B: 0xa0, A: 0xff}
	case peer:
		return color.RGBA{R: 0xd6, G: 0x3b, B: 0x2f, A: 0xff}
	case baseline:
		return color.RGBA{R: 0xe0, G: 0x9a, B: 0x1f, A: 0xff}
	case "channel", "time.AfterFunc":
		return color.RGBA{R: 0x55, G: 0x8b, B: 0x2f, A: 0xff}
	case "controller-runtime":
		return color.RGBA{R: 0x8e, G: 0x44, B: 0xad, A: 0xff}
	default:
		return color.RGBA{R: 0x6b, G: 0x6b, B: 0x6b, A: 0xff}
	}
}

// yTicks are the usual ticks, with our way of writing numbers.
func yTicks(least, greatest float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(least, greatest)
	for i, tick := range ticks {
		if tick.Label != "" {
			ticks[i].Label = figure(tick.Value)
		}
	}
	return ticks
}

// xTicks marks the x of every point, or the powers of ten if they are many.
func xTicks(lines *curves) (ticks []plot.Tick) {
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
		ticks = append(ticks, plot.Tick{Value: x, Label: figure(x)})
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
