package main

import (
	"context"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/examples/hydro/boxes"
	"github.com/craft-go/craft/examples/hydro/halo"
	"github.com/craft-go/craft/examples/hydro/lagrange"
	"github.com/craft-go/craft/examples/internal/jobs"
)

// domain is what a rank has of the cube in one attempt.
type domain struct {
	division   []boxes.Box // the box of each rank
	mesh       *lagrange.Mesh
	neighbours *halo.Halo

	// Of the nodes of the box, those that no other rank stores:
	owned              boxes.Box
	position, velocity []float64 // x, y, z of each
}

// newDomain divides the cube among the ranks that there are now. It is collective.
func newDomain(ctx context.Context, c *comm.Comm, p lagrange.Problem) (*domain, error) {
	cores, err := jobs.Cores(ctx, c)
	if err != nil {
		return nil, err
	}
	division := boxes.Divide(p.Cube(), c.Size())
	box := division[c.Rank()]
	mesh := lagrange.NewMesh(p, box)
	mesh.Workers = cores
	owned := box.Owned(p.Cube())
	return &domain{
		division: division, mesh: mesh, neighbours: halo.New(c, p.Cube(), division), owned: owned,
		position: make([]float64, 3*owned.Count()), velocity: make([]float64, 3*owned.Count()),
	}, nil
}

// elements is a field of the mesh's elements, in the array of those of the whole cube.
func (d *domain) elements(field *[]float64) cptypes.Value {
	return cptypes.PartitionedBox(field, stored(d.mesh.Elements), stored(d.mesh.Cube()).Hi)
}

// nodes is a field of owned nodes, in the array of those of the whole cube. The three
// numbers at each are a fourth dimension, which is not divided.
func (d *domain) nodes(field *[]float64) cptypes.Value {
	box, global := stored(d.owned), stored(d.mesh.Cube().Nodes())
	box.Lo, box.Hi, global.Hi = append(box.Lo, 0), append(box.Hi, 3), append(global.Hi, 3)
	return cptypes.PartitionedBox(field, box, global.Hi)
}

// stored is a box as checkpoints know it.
func stored(b boxes.Box) (out cptypes.Box) {
	for d := range b.Lo {
		out.Lo = append(out.Lo, int64(b.Lo[d]))
		out.Hi = append(out.Hi, int64(b.Hi[d]))
	}
	return out
}

// take copies the owned nodes out of the mesh, before a checkpoint.
func (d *domain) take() {
	i := 0
	for at := range d.owned.All() {
		n := d.mesh.Nodes.Index(at)
		x, v := d.mesh.Position[n], d.mesh.Velocity[n]
		d.position[i], d.position[i+1], d.position[i+2] = x.X, x.Y, x.Z
		d.velocity[i], d.velocity[i+1], d.velocity[i+2] = v.X, v.Y, v.Z
		i += 3
	}
}

// give copies them into the mesh, after a restart, and gets its other nodes from the ranks
// that own these. It is collective.
func (d *domain) give(ctx context.Context) error {
	i := 0
	for at := range d.owned.All() {
		n := d.mesh.Nodes.Index(at)
		d.mesh.Position[n] = lagrange.Vec{X: d.position[i], Y: d.position[i+1], Z: d.position[i+2]}
		d.mesh.Velocity[n] = lagrange.Vec{X: d.velocity[i], Y: d.velocity[i+1], Z: d.velocity[i+2]}
		i += 3
	}
	if err := d.neighbours.Nodes(ctx, d.mesh.Position); err != nil {
		return err
	}
	return d.neighbours.Nodes(ctx, d.mesh.Velocity)
}
