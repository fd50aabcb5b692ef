package chart

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bars are groups of bars, each of parts that are stacked from below.
type Bars struct {
	Title  string
	Label  string // of the axis of values, which begins with 0
	Parts  []Part
	Groups []Group
}

// Part is what all bars have a share of.
type Part struct {
	Name string
	Ink  int // the number of its colour: the same part has the same one in all charts
}

// Group is bars side by side, with a name above them of a line or more.
type Group struct {
	Name string
	Bars []Bar
}

// Bar is one of a group.
type Bar struct {
	Name  string
	Parts []float64
	Half  float64 // of an interval around the end of the bar; 0: none
}

const (
	barWidth    = 0.8 // of the place of a bar
	betweenBars = 1.0 // places between groups
	panelHeight = 8.5 * vg.Centimeter
	panelWidth  = 26 * vg.Centimeter
	legendWidth = 4.5 * vg.Centimeter
	headroom    = 1.3 // for the names of groups
)

// inks are the colours of parts: what is not special is grey.
var inks = append([]color.Color{color.Gray{200}}, plotutil.SoftColors[1:]...)

// DrawBars draws panels below one another, in a format.
func DrawBars(w io.Writer, format string, panels ...Bars) error {
	if len(panels) == 0 {
		return fmt.Errorf("a chart of bars has one panel or more")
	}
	canvas, err := draw.NewFormattedCanvas(panelWidth, vg.Length(len(panels))*panelHeight, format)
	if err != nil {
		return err
	}
	all := draw.New(canvas)
	for i, b := range panels {
		above, below := vg.Length(i)*panelHeight, vg.Length(len(panels)-1-i)*panelHeight
		if err := b.draw(draw.Crop(all, 0, 0, below, -above)); err != nil {
			return fmt.Errorf("bars %q: %w", b.Title, err)
		}
	}
	_, err = canvas.WriteTo(w)
	return err
}

func (b Bars) draw(c draw.Canvas) error {
	if err := b.validate(); err != nil {
		return err
	}
	p := plot.New()
	p.Title.Text, p.Title.Padding, p.Y.Label.Text = b.Title, vg.Points(8), b.Label
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = nil, color.Gray{225}
	p.Add(grid)
	legend := plot.NewLegend()
	legend.Top, legend.Left, legend.Padding, legend.TextStyle.Font.Size = true, true, vg.Points(3), vg.Points(10)
	thumbnails := make([]plot.Thumbnailer, len(b.Parts))
	for i := range b.Parts {
		stack, err := b.stack(i)
		if err != nil {
			return err
		}
		for _, rectangle := range stack {
			p.Add(rectangle)
		}
		thumbnails[i] = stack[0]
	}
	for i := range slices.Backward(b.Parts) { // as they are stacked
		legend.Add(b.Parts[i].Name, thumbnails[i])
	}
	if err := b.name(p); err != nil {
		return err
	}
	p.Y.Min, p.Y.Max = 0, headroom*b.top()
	p.X.Min, p.X.Max = -betweenBars, b.places()
	p.Draw(draw.Crop(c, vg.Points(6), -legendWidth, vg.Points(6), -vg.Points(6)))
	legend.Draw(draw.Crop(c, panelWidth-legendWidth+vg.Points(8), 0, 0, -vg.Points(28)))
	return nil
}

func (b Bars) validate() error {
	bars := 0
	for _, g := range b.Groups {
		for _, one := range g.Bars {
			if bars++; len(one.Parts) != len(b.Parts) {
				return fmt.Errorf("bar %q of group %q: %d values, and there are %d parts", one.Name, g.Name, len(one.Parts), len(b.Parts))
			}
		}
	}
	if bars == 0 || len(b.Parts) == 0 {
		return fmt.Errorf("there are %d bars of %d parts: one or more of each", bars, len(b.Parts))
	}
	return nil
}

// each calls a function for each bar with its place.
func (b Bars) each(f func(x float64, one Bar)) {
	x := 0.0
	for _, g := range b.Groups {
		for _, one := range g.Bars {
			f(x, one)
			x++
		}
		x += betweenBars
	}
}

// places is where a further group would begin.
func (b Bars) places() (end float64) {
	b.each(func(x float64, _ Bar) { end = x + 1 })
	return end
}

// top is the end of the highest bar.
func (b Bars) top() (top float64) {
	b.each(func(_ float64, one Bar) { top = math.Max(top, one.until(len(one.Parts))+one.Half) })
	return top
}

// until is the height of the first parts.
func (one Bar) until(parts int) (height float64) {
	for _, v := range one.Parts[:parts] {
		height += math.Max(v, 0)
	}
	return height
}

// stack is a part of all bars.
func (b Bars) stack(part int) (rectangles []*plotter.Polygon, err error) {
	b.each(func(x float64, one Bar) {
		low, high := one.until(part), one.until(part+1)
		var r *plotter.Polygon
		left, right := x-barWidth/2, x+barWidth/2
		if r, err = plotter.NewPolygon(plotter.XYs{{X: left, Y: low}, {X: right, Y: low}, {X: right, Y: high}, {X: left, Y: high}}); err != nil {
			return
		}
		r.Color, r.LineStyle.Width = inks[b.Parts[part].Ink%len(inks)], 0
		rectangles = append(rectangles, r)
	})
	return rectangles, err
}

// intervals are the ends of the bars, with how far they are known.
type intervals struct {
	plotter.XYs
	plotter.YErrors
}

// name adds what is written to bars and groups, and the intervals.
func (b Bars) name(p *plot.Plot) error {
	var ticks plot.ConstantTicks
	var ends intervals
	b.each(func(x float64, one Bar) {
		ticks = append(ticks, plot.Tick{Value: x, Label: one.Name})
		if one.Half > 0 {
			ends.XYs = append(ends.XYs, plotter.XY{X: x, Y: one.until(len(one.Parts))})
			ends.YErrors = append(ends.YErrors, struct{ Low, High float64 }{one.Half, one.Half})
		}
	})
	p.X.Tick.Marker, p.X.Tick.LineStyle.Color = ticks, color.Transparent
	p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/2, text.XRight, text.YCenter
	if len(ends.XYs) > 0 {
		whiskers, err := plotter.NewYErrorBars(ends)
		if err != nil {
			return err
		}
		whiskers.CapWidth = vg.Points(4)
		p.Add(whiskers)
	}
	var names plotter.XYLabels
	x := 0.0
	for _, g := range b.Groups {
		n := float64(len(g.Bars))
		names.XYs = append(names.XYs, plotter.XY{X: x + (n-1)/2, Y: headroom * b.top()})
		names.Labels = append(names.Labels, g.Name)
		x += n + betweenBars
	}
	labels, err := plotter.NewLabels(names)
	if err != nil {
		return err
	}
	for i := range labels.TextStyle {
		labels.TextStyle[i].XAlign, labels.TextStyle[i].YAlign, labels.TextStyle[i].Font.Size = text.XCenter, text.YTop, vg.Points(10)
	}
	p.Add(labels)
	return nil
}
