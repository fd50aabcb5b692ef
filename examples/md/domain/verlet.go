package domain

import "context"

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
