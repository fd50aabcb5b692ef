package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/examples/cg/stencil"
	"github.com/craft-go/craft/examples/internal/jobs"
)

// grid is the problem. It is the same in all attempts, on however many ranks, and it is
// what a checkpoint is of. It is collective.
func (c config) grid(ctx context.Context, rank *jobs.Rank) (stencil.Grid, error) {
	g := stencil.Grid{NX: c.nx, NY: c.ny, Planes: c.planes}
	if c.planes == 0 {
		ranks, err := rank.AtStart(ctx)
		if err != nil {
			return g, err
		}
		g.Planes = c.nz * ranks
	}
	rank.Name(fmt.Sprintf("%dx%dx%d", g.NX, g.NY, g.Planes)) // so that another problem has another directory
	return g, g.Validate()
}

// explain says how a checkpoint of another number of ranks is gone on with.
func explain(err error) error {
	if errors.Is(err, checkpoint.ErrFingerprint) {
		return fmt.Errorf("%w, or all of its planes with -planes to go on with it on any number of ranks", jobs.Explain(err))
	}
	return jobs.Explain(err)
}
