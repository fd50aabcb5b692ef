package domain

import (
	"context"
	"math"

	"github.com/craft-go/craft/examples/md/copper"
)

// Start makes the atoms of a perfect crystal, and gives them velocities at a temperature in K.
func (d *Domain) Start(ctx context.Context, crystal copper.Lattice, seed uint64, temperature float64) error {
	d.reset()
	for id := int64(d.First); id < int64(d.Last); id++ {
		r, v := crystal.Position(id), copper.Velocity(seed, id)
		d.Add(id, r[:], v[:])
	}
	if err := d.Arrange(ctx); err != nil {
		return err
	}
	return d.thermalise(ctx, temperature)
}

// thermalise takes away the momentum of all atoms together, and scales their velocities.
func (d *Domain) thermalise(ctx context.Context, temperature float64) error {
	t, err := d.Totals(ctx)
	if err != nil {
		return err
	}
	for i := range d.V {
		d.V[i] -= t.Momentum[i%3] / (float64(d.Total) * d.mass)
	}
	if t, err = d.Totals(ctx); err != nil {
		return err
	}
	factor := math.Sqrt(temperature / copper.Temperature(t.Kinetic, int64(d.Total)))
	for i := range d.V {
		d.V[i] *= factor
	}
	return nil
}
