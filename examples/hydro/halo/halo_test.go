package halo_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/hydro/boxes"
	"github.com/craft-go/craft/examples/hydro/halo"
	"github.com/craft-go/craft/examples/hydro/lagrange"
	"github.com/stretchr/testify/require"
)

const (
	edge  = 7
	steps = 30
)

// TestSameBits: a cube in pieces is the whole cube, bit for bit, whatever the number of
// pieces is: cubes, boxes of several sizes, and more ranks than there are elements in some.
func TestSameBits(t *testing.T) {
	p := lagrange.Sedov(edge)
	whole := lagrange.NewMesh(p, p.Cube())
	for range steps {
		require.NoError(t, whole.Step(t.Context(), lagrange.Alone{}))
	}
	for _, ranks := range []int{1, 2, 3, 5, 7, 8, 13, 27} {
		t.Run(fmt.Sprint(ranks), func(t *testing.T) {
			require.NoError(t, afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
				all := boxes.Divide(p.Cube(), ranks)
				mesh, others := lagrange.NewMesh(p, all[c.Rank()]), halo.New(c, p.Cube(), all)
				for range steps {
					if err := mesh.Step(ctx, others); err != nil {
						return err
					}
				}
				for at := range mesh.Nodes.All() {
					i, j := mesh.Nodes.Index(at), whole.Nodes.Index(at)
					require.Equal(t, whole.Position[j], mesh.Position[i], "node %v", at)
					require.Equal(t, whole.Velocity[j], mesh.Velocity[i], "node %v", at)
				}
				for at := range mesh.Elements.All() {
					i, j := mesh.Elements.Index(at), whole.Elements.Index(at)
					require.Equal(t, whole.Energy[j], mesh.Energy[i], "element %v", at)
					require.Equal(t, whole.Pressure[j], mesh.Pressure[i], "element %v", at)
					require.Equal(t, whole.Viscosity[j], mesh.Viscosity[i], "element %v", at)
				}
				require.Equal(t, whole.Clock, mesh.Clock)
				return nil
			}))
		})
	}
}

// TestMoreRanksThanElements: some have nothing to do.
func TestMoreRanksThanElements(t *testing.T) {
	p := lagrange.Sedov(2)
	whole := lagrange.NewMesh(p, p.Cube())
	require.NoError(t, whole.Step(t.Context(), lagrange.Alone{}))
	require.NoError(t, afttest.Run(t.Context(), 11, func(ctx context.Context, c *comm.Comm) error {
		all := boxes.Divide(p.Cube(), c.Size())
		mesh := lagrange.NewMesh(p, all[c.Rank()])
		if err := mesh.Step(ctx, halo.New(c, p.Cube(), all)); err != nil {
			return err
		}
		require.Equal(t, whole.Clock, mesh.Clock)
		return nil
	}))
}

// TestNodes: each node that several ranks have gets the value of the one that owns it.
func TestNodes(t *testing.T) {
	cube := boxes.Cube(5)
	require.NoError(t, afttest.Run(t.Context(), 7, func(ctx context.Context, c *comm.Comm) error {
		all := boxes.Divide(cube, c.Size())
		own := all[c.Rank()]
		nodes := own.Nodes()
		values := make([]lagrange.Vec, nodes.Count())
		value := func(p boxes.Point) lagrange.Vec {
			return lagrange.Vec{X: float64(p[0]), Y: float64(p[1]), Z: float64(p[2])}
		}
		for p := range own.Owned(cube).All() {
			values[nodes.Index(p)] = value(p)
		}
		if err := halo.New(c, cube, all).Nodes(ctx, values); err != nil {
			return err
		}
		for p := range nodes.All() {
			require.Equal(t, value(p), values[nodes.Index(p)])
		}
		return nil
	}))
}
