// Package chart draws curves, and stacked bars, into SVG and PNG files.
package chart

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// Axis is one of a chart's.
type Axis struct {
	Label string
	// Log: the scale is logarithmic, from and to powers of ten, and has values above 0 only.
	Log bool
	// Min and Max are where it ends; both 0: where the curves do.
	Min, Max float64
}

// Curve is a line through points of ascending x.
type Curve struct {
	Name      string
	X, Y      []float64
	Low, High []float64 // an interval around each y; nil: none
	Dashed    bool
	Dots      bool // at the points
}

// Chart is curves over the same axes.
type Chart struct {
	Title  string
	X, Y   Axis
	Curves []Curve
}

// Formats are those in which a chart can be drawn.
var Formats = []string{"svg", "png"}

// Format is the one that the name of a file ends in.
func Format(file string) (string, error) {
	format := strings.ToLower(strings.TrimPrefix(filepath.Ext(file), "."))
	if !slices.Contains(Formats, format) {
		return "", fmt.Errorf("%s: a chart is drawn into a file that ends in .%s", file, strings.Join(Formats, " or ."))
	}
	return format, nil
}

const (
	width, height = 18 * vg.Centimeter, 11 * vg.Centimeter
	lineWidth     = vg.Length(1.6)
	bandOpacity   = 60 // of 255
)

// Draw writes the chart in a format.
func (c Chart) Draw(w io.Writer, format string) error {
	p := plot.New()
	p.Title.Text, p.Title.Padding = c.Title, vg.Points(8)
	p.X.Label.Text, p.Y.Label.Text = c.X.Label, c.Y.Label
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, vg.Points(2)
	p.Legend.XOffs, p.Legend.YOffs = vg.Points(6), -vg.Points(6)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{225}, color.Gray{225}
	p.Add(grid)
	for i, curve := range c.Curves {
		if err := c.add(p, curve, plotutil.Color(i)); err != nil {
			return fmt.Errorf("curve %q: %w", curve.Name, err)
		}
	}
	c.X.apply(&p.X)
	c.Y.apply(&p.Y)
	drawn, err := p.WriterTo(width, height, format)
	if err != nil {
		return err
	}
	_, err = drawn.WriteTo(w)
	return err
}

// add draws a curve, and its interval below it.
func (c Chart) add(p *plot.Plot, curve Curve, ink color.Color) error {
	if n := len(curve.X); n == 0 || len(curve.Y) != n || curve.Low != nil && (len(curve.Low) != n || len(curve.High) != n) {
		return fmt.Errorf("%d, %d, %d and %d values of x, y and the interval: there are as many of each, and one or more", n, len(curve.Y), len(curve.Low), len(curve.High))
	}
	line, err := plotter.NewLine(c.points(curve.X, curve.Y))
	if err != nil {
		return err
	}
	line.Color, line.Width = ink, lineWidth
	if curve.Dashed {
		line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
	}
	if curve.Low != nil {
		outline := c.points(curve.X, curve.High)
		back := c.points(curve.X, curve.Low)
		slices.Reverse(back)
		band, err := plotter.NewPolygon(append(outline, back...))
		if err != nil {
			return err
		}
		r, g, b, _ := ink.RGBA()
		band.Color = color.NRGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), bandOpacity}
		band.LineStyle.Width = 0
		p.Add(band)
	}
	p.Add(line)
	thumbnails := []plot.Thumbnailer{line}
	if curve.Dots {
		dots, err := plotter.NewScatter(c.points(curve.X, curve.Y))
		if err != nil {
			return err
		}
		dots.Color, dots.Radius = ink, vg.Points(2)
		p.Add(dots)
		thumbnails = append(thumbnails, dots)
	}
	if curve.Name != "" {
		p.Legend.Add(curve.Name, thumbnails...)
	}
	return nil
}

func (c Chart) points(x, y []float64) plotter.XYs {
	points := make(plotter.XYs, len(x))
	for i := range x {
		points[i] = plotter.XY{X: c.X.position(x[i]), Y: c.Y.position(y[i])}
	}
	return points
}

// position is where a value is, at the end of the axis if it is beyond that. On a logarithmic axis it is
// the logarithm, and plot knows nothing of that: with its own scale it leaves room for the label
// where the mean of both ends is, far from the middle.
func (a Axis) position(v float64) float64 {
	if a.Min != 0 || a.Max != 0 {
		v = min(max(v, a.Min), a.Max)
	}
	if a.Log {
		return math.Log10(v)
	}
	return v
}

func (a Axis) apply(axis *plot.Axis) {
	if a.Min != 0 || a.Max != 0 {
		axis.Min, axis.Max = a.position(a.Min), a.position(a.Max)
	}
	axis.Label.Padding = vg.Points(4)
	if a.Log {
		axis.Tick.Marker = plot.TickerFunc(decades)
	}
}

// decades are ticks at powers of ten, between their exponents, so few that they can be read, and
// without labels in between.
func decades(low, high float64) (ticks []plot.Tick) {
	const tolerance = 1e-9
	every := max(1, int(high-low+5)/10)
	for e := int(math.Floor(low + tolerance)); float64(e) <= high; e++ {
		for digit := 1.0; digit < 10; digit++ {
			tick := plot.Tick{Value: float64(e) + math.Log10(digit)}
			switch {
			case digit == 1 && e%every == 0:
				tick.Label = power(e)
			case digit > 1 && every > 1:
				continue
			}
			if tick.Value >= low-tolerance && tick.Value <= high+tolerance {
				ticks = append(ticks, tick)
			}
		}
	}
	return ticks
}

// power writes a power of ten as people read it.
func power(e int) string {
	switch {
	case e >= 0 && e <= 6:
		text := strconv.Itoa(int(math.Pow10(e)))
		for i := len(text) - 3; i > 0; i -= 3 {
			text = text[:i] + "," + text[i:]
		}
		return text
	case e < 0 && e >= -3:
		return strconv.FormatFloat(math.Pow10(e), 'f', -1, 64)
	}
	return fmt.Sprintf("1e%d", e)
}
