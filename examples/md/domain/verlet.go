package domain

import (
	"context"
	"math"

	"github.com/craft-go/craft/examples/md/copper"
)

// Step moves all atoms on by a time. Forces comes first.
func (d *Domain) Step(ctx context.Context, dt float64) error {
	d.kick(dt / 2)
	for i, v := range d.V {
		d.R[i] += dt * v
	}
	if err := d.Arrange(ctx); err != nil {
		return err
	}
	if err := d.Forces(ctx); err != nil {
		return err
	}
	d.kick(dt / 2)
	return nil
}

func (d *Domain) kick(dt float64) {
	factor := dt / d.mass
	for i, f := range d.force {
		d.V[i] += factor * f
	}
}

// Thermalise takes away the momentum of all atoms together, and scales their velocities to a
// temperature in K. Arrange comes first.
func (d *Domain) Thermalise(ctx context.Context, temperature float64) error {
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
