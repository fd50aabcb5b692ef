package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/kmeans/lloyd"
)

// sampled is a point of the picture.
type sampled struct {
	cluster int
	at      plotter.XY
}

// drawn is how many points the picture has at most.
const drawn = 10_000

// canDraw returns why there will be no picture, so that this is known before all is computed.
func (w *worker) canDraw() error {
	if w.plot == "" {
		return nil
	}
	if w.points.dim < 2 {
		return fmt.Errorf("-plot: the picture is of points with two coordinates or more, these have %d", w.points.dim)
	}
	if w.rank == 0 { // which draws it
		if _, err := os.Stat(filepath.Dir(w.plot)); err != nil {
			return fmt.Errorf("-plot %s: %w", w.plot, err)
		}
	}
	return nil
}

// sample brings points for the picture to rank 0, those of all ranks at even distances.
// It is collective.
func (w *worker) sample(ctx context.Context, c *comm.Comm) ([]sampled, error) {
	p := &w.points
	if w.plot == "" {
		return nil, nil
	}
	every := (p.total + drawn - 1) / drawn
	labels, squares := make([]int32, lloyd.BlockPoints), make([]float64, lloyd.BlockPoints)
	var mine []float64 // cluster, x, y
	p.each(func(id int64, block []float64, n int) {
		lloyd.Nearest(labels, squares, block, w.state.centres, p.dim)
		for i := range n {
			if (id*lloyd.BlockPoints+int64(i))%every == 0 {
				mine = append(mine, float64(labels[i]), block[i*p.dim], block[i*p.dim+1])
			}
		}
	})
	all, err := comm.Gatherv(ctx, c, 0, mine)
	if err != nil {
		return nil, err
	}
	var out []sampled
	for s := range slices.Chunk(slices.Concat(all...), 3) {
		out = append(out, sampled{int(s[0]), plotter.XY{X: s[1], Y: s[2]}})
	}
	return out, nil
}

// draw makes the picture, if there is to be one.
func (c config) draw(r result) error {
	if c.plot == "" {
		return nil
	}
	clusters := make([]plotter.XYs, len(r.Centres))
	for _, s := range r.sample {
		clusters[s.cluster] = append(clusters[s.cluster], s.at)
	}
	p := plot.New()
	p.Title.Text = fmt.Sprintf("%d clusters after %d iterations", len(r.Centres), r.Iterations)
	p.X.Label.Text, p.Y.Label.Text = "first coordinate", "second coordinate"
	colors := palette.Rainbow(len(clusters)+1, palette.Red, palette.Magenta, 0.8, 0.9, 1).Colors()
	var centres plotter.XYs
	for i, xys := range clusters {
		centres = append(centres, plotter.XY{X: r.Centres[i][0], Y: r.Centres[i][1]})
		if len(xys) == 0 {
			continue
		}
		points, err := plotter.NewScatter(xys)
		if err != nil {
			return err
		}
		points.GlyphStyle = draw.GlyphStyle{Color: colors[i], Radius: vg.Points(1), Shape: draw.CircleGlyph{}}
		p.Add(points)
	}
	crosses, err := plotter.NewScatter(centres)
	if err != nil {
		return err
	}
	crosses.GlyphStyle.Shape, crosses.GlyphStyle.Radius = draw.CrossGlyph{}, vg.Points(5)
	p.Add(crosses)
	return p.Save(16*vg.Centimeter, 16*vg.Centimeter, c.plot)
}
