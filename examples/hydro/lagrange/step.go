package lagrange

import (
	"context"
	"math"
)

// Neighbours are the boxes that have the rest of the cube. All boxes make the same calls
// in the same order.
type Neighbours interface {
	// Forces fills in what elements around the box do to nodes that they have in common
	// with it: the eight corners of each element of Around the box, in row-major order.
	Forces(ctx context.Context, corners []Vec) error
	// Gradients fills in those of the elements around the box that have a face in common
	// with it.
	Gradients(ctx context.Context, gradients []Vec) error
	// Least is the smallest value of any box.
	Least(ctx context.Context, value float64) (float64, error)
}

// Alone is for a mesh that is the whole cube.
type Alone struct{}

var _ Neighbours = Alone{}

func (Alone) Forces(context.Context, []Vec) error                     { return nil }
func (Alone) Gradients(context.Context, []Vec) error                  { return nil }
func (Alone) Least(_ context.Context, value float64) (float64, error) { return value, nil }

// Step goes on by one time step: Forces, and then Move. After an error the mesh is of no use.
func (m *Mesh) Step(ctx context.Context, others Neighbours) error {
	if err := m.Forces(ctx, others); err != nil {
		return err
	}
	return m.Move(ctx, others)
}

// Forces finds the forces on all nodes. It does not change the state of the mesh.
func (m *Mesh) Forces(ctx context.Context, others Neighbours) error {
	if err := m.push(ctx); err != nil {
		return err
	}
	return others.Forces(ctx, m.corners)
}

// Move has the nodes follow the forces, and the elements the nodes.
func (m *Mesh) Move(ctx context.Context, others Neighbours) error {
	step := m.Next
	if m.Cycle > 0 {
		step = math.Min(step, fastest*m.Last)
	}
	kick := (m.Last + step) / 2 // velocities go from the middle of the last step to that of this one
	if err := m.accelerate(ctx, kick); err != nil {
		return err
	}
	if err := m.work(ctx, kick); err != nil {
		return err
	}
	if err := m.follow(ctx, step); err != nil {
		return err
	}
	if err := m.deform(ctx); err != nil {
		return err
	}
	if err := others.Gradients(ctx, m.gradients); err != nil {
		return err
	}
	mine, err := m.respond(ctx)
	if err != nil {
		return err
	}
	bound, err := others.Least(ctx, mine)
	if err != nil {
		return err
	}
	m.Clock = Clock{Cycle: m.Cycle + 1, Time: m.Time + step, Last: step, Next: bound}
	return nil
}

// fastest is the ratio of a step to the one before, at most.
const fastest = 1.2
