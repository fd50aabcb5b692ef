package main

import (
	"context"
	"fmt"
	"io"

	"github.com/dustin/go-humanize"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/internal/jobs"
)

// result is what the program prints. The names of the fields are those of the
// JSON object.
type result struct {
	Edge        int     `json:"edge"` // elements along an edge of the cube
	Time        float64 `json:"time"`
	Energy      float64 `json:"energy"`       // of all elements and nodes
	EnergyError float64 `json:"energy_error"` // relative to that at the beginning
	Kinetic     float64 `json:"kinetic"`      // share of the nodes in the energy
	ShockRadius float64 `json:"shock_radius"` // of the densest element
	SedovRadius float64 `json:"sedov_radius"` // of the exact solution

	jobs.Result

	directory string
}

// finish makes the result. It is collective.
func (c config) finish(ctx context.Context, cm *comm.Comm, rank *jobs.Rank, d *domain) error {
	g, err := gather(ctx, cm, d)
	if err != nil {
		return err
	}
	mesh := d.mesh
	common, err := rank.Result(ctx, mesh.Cycle, g.digest())
	energy := g.kinetic + g.inner
	rank.Finish(&result{
		Edge: mesh.Edge, Time: mesh.Time,
		Energy: energy, EnergyError: energy/mesh.Blast - 1, Kinetic: g.kinetic / energy,
		ShockRadius: g.densest.Length(), SedovRadius: mesh.SedovRadius(mesh.Time),
		Result: common, directory: rank.CPPath,
	})
	return err
}

// Print writes it for people.
func (r *result) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s elements, %d along each edge\n", humanize.Comma(int64(r.Edge)*int64(r.Edge)*int64(r.Edge)), r.Edge)
	r.PrintRun(w)
	fmt.Fprintf(w, "\ntime %.6g: the shock is at radius %.3f (Sedov: %.3f)\n", r.Time, r.ShockRadius, r.SedovRadius)
	fmt.Fprintf(w, "energy %.9g, %.1f %% of it kinetic; relative change since the beginning: %.0e\n\n", r.Energy, 100*r.Kinetic, r.EnergyError)
	r.PrintCheckpoints(w, r.directory)
	_, err := fmt.Fprintf(w, "digest %s\n", r.Digest)
	return err
}
