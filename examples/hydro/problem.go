package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/examples/hydro/lagrange"
	"github.com/craft-go/craft/examples/internal/jobs"
)

// problem is the same in all attempts, on however many ranks, and it is what a checkpoint
// is of. It is collective.
func (c config) problem(ctx context.Context, rank *jobs.Rank) (lagrange.Problem, error) {
	edge := c.edge
	if edge == 0 {
		ranks, err := rank.AtStart(ctx)
		if err != nil {
			return lagrange.Problem{}, err
		}
		edge = c.size * cubeRoot(ranks)
	}
	if edge > mostEdge {
		return lagrange.Problem{}, fmt.Errorf("-size %d: the cube has %d elements along an edge, more than %d", c.size, edge, mostEdge)
	}
	rank.Name(fmt.Sprintf("sedov-edge%d", edge))
	return lagrange.Sedov(edge), nil
}

// cubeRoot is rounded up: two ranks share what eight would have.
func cubeRoot(n int) (root int) {
	for root*root*root < n {
		root++
	}
	return root
}

// explain says how a checkpoint of another number of ranks is gone on with.
func explain(err error) error {
	if errors.Is(err, checkpoint.ErrFingerprint) {
		return fmt.Errorf("%w, or the size of the whole cube with -edge to go on with it on any number of ranks", jobs.Explain(err))
	}
	return jobs.Explain(err)
}
