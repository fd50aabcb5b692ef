package halo

import (
	"context"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/hydro/boxes"
	"github.com/craft-go/craft/examples/hydro/lagrange"
)

// Halo is one rank's connection with its neighbours. It holds nothing but memory.
type Halo struct {
	c                        *comm.Comm
	forces, gradients, nodes exchange
}

var _ lagrange.Neighbours = (*Halo)(nil)

// Tags of the messages.
const (
	tagForces comm.Tag = iota
	tagGradients
	tagNodes
)

// New is for a cube that is divided into the boxes of all ranks.
func New(c *comm.Comm, cube boxes.Box, all []boxes.Box) *Halo {
	l := newLists(cube, all[c.Rank()])
	return &Halo{
		c:         c,
		forces:    newExchange(c.Rank(), tagForces, all, l.forces),
		gradients: newExchange(c.Rank(), tagGradients, all, l.gradients),
		nodes:     newExchange(c.Rank(), tagNodes, all, l.owned),
	}
}

// Forces implements lagrange.Neighbours.
func (h *Halo) Forces(ctx context.Context, corners []lagrange.Vec) error {
	return h.forces.run(ctx, h.c, corners)
}

// Gradients implements lagrange.Neighbours.
func (h *Halo) Gradients(ctx context.Context, gradients []lagrange.Vec) error {
	return h.gradients.run(ctx, h.c, gradients)
}

// Least implements lagrange.Neighbours. The least value is the same in any order.
func (h *Halo) Least(ctx context.Context, value float64) (float64, error) {
	return comm.AllreduceOne(ctx, h.c, value, comm.Min, comm.AnyOrder)
}

// Nodes fills in the values of nodes of the box that other boxes own, from these.
func (h *Halo) Nodes(ctx context.Context, values []lagrange.Vec) error {
	return h.nodes.run(ctx, h.c, values)
}
