package main

import (
	"image/color"

	"github.com/shardq/shardq/bench/compare/internal/plots"
)

type figureAxes = plots.Axes

// curves are the lines of a plot, by the name of their subject.
type curves struct{ *plots.Lines }

func newCurves() curves { return curves{plots.New()} }

// add adds a point at x to each subject's line.
func (c curves) add(x float64, o outcome) {
	for _, s := range o.subjects {
		y := spreadOf(o.values[s.name])
		c.Add(s.name, x, y.median, y.least, y.greatest)
	}
}

// colorOf gives each engine the same color in all plots.
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
