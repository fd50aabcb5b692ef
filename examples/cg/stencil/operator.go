package stencil

import (
	"context"
	"errors"

	"github.com/craft-go/craft/aft/comm"
)

// haloTag is of messages with a plane.
const haloTag comm.Tag = 1

// Operator is one rank's part of the matrix.
type Operator struct {
	Lo, Hi int // planes lo <= z < hi of the grid

	grid   Grid
	comm   *comm.Comm
	kernel kernel

	// The planes next to those of this rank; zero where the grid ends.
	below, above         []float64
	hasBelow, hasAbove   bool
	ownsBelow, ownsAbove comm.Rank
}

// NewOperator is for the planes that a rank of a communicator has.
func NewOperator(c *comm.Comm, g Grid) *Operator {
	o := &Operator{grid: g, comm: c, kernel: newKernel(g), below: make([]float64, g.Plane()), above: make([]float64, g.Plane())}
	o.Lo, o.Hi = g.Range(c.Rank(), c.Size())
	if o.Lo == o.Hi { // nobody needs anything of it
		return o
	}
	if o.hasBelow = o.Lo > 0; o.hasBelow {
		o.ownsBelow = g.Owner(o.Lo-1, c.Size())
	}
	if o.hasAbove = o.Hi < g.Planes; o.hasAbove {
		o.ownsAbove = g.Owner(o.Hi, c.Size())
	}
	return o
}

// Planes is how many planes this rank has.
func (o *Operator) Planes() int { return o.Hi - o.Lo }

// Plane is one of this rank's planes of a vector.
func (o *Operator) Plane(v []float64, plane int) []float64 {
	n := o.grid.Plane()
	return v[plane*n : (plane+1)*n]
}

// Multiply computes product = A v, and calls done after each plane. It is collective among
// neighbours. When the context ends, so does it, after at most one more plane; no memory is in
// use when it has returned.
func (o *Operator) Multiply(ctx context.Context, product, v []float64, done func(plane int)) error {
	halo := o.exchange(v)
	last := o.Planes() - 1
	var err error
	for plane := 1; plane < last && err == nil; plane++ {
		err = o.plane(ctx, product, v, plane, done)
	}
	if err := errors.Join(err, comm.WaitAll(ctx, halo...)); err != nil {
		return err
	}
	if last >= 0 {
		err = o.plane(ctx, product, v, 0, done)
	}
	if last > 0 && err == nil {
		err = o.plane(ctx, product, v, last, done)
	}
	return err
}

// exchange starts to send what neighbours need of v, straight from it, and to receive
// what this rank needs of theirs.
func (o *Operator) exchange(v []float64) (halo []comm.Request) {
	if o.hasBelow {
		halo = append(halo, comm.Irecv(o.comm, o.ownsBelow, haloTag, o.below), comm.Isend(o.comm, o.ownsBelow, haloTag, o.Plane(v, 0)))
	}
	if o.hasAbove {
		halo = append(halo, comm.Irecv(o.comm, o.ownsAbove, haloTag, o.above), comm.Isend(o.comm, o.ownsAbove, haloTag, o.Plane(v, o.Planes()-1)))
	}
	return halo
}

func (o *Operator) plane(ctx context.Context, product, v []float64, plane int, done func(plane int)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	below, above := o.below, o.above
	if plane > 0 {
		below = o.Plane(v, plane-1)
	}
	if plane < o.Planes()-1 {
		above = o.Plane(v, plane+1)
	}
	o.kernel.plane(o.Plane(product, plane), below, o.Plane(v, plane), above)
	done(plane)
	return nil
}

// RightHandSide is that of which the solution is 1 everywhere: the sums of the rows.
func (o *Operator) RightHandSide() []float64 {
	b := make([]float64, o.Planes()*o.grid.Plane())
	i := 0
	for z := o.Lo; z < o.Hi; z++ {
		for y := range o.grid.NY {
			for x := range o.grid.NX {
				b[i] = float64(Diagonal + 1 - o.grid.Neighbours(x, y, z))
				i++
			}
		}
	}
	return b
}
