package main

import (
	"context"

	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/examples/lanczos/krylov"
	"github.com/craft-go/craft/examples/lanczos/tridiag"
)

// tolerance is the relative residual at which the eigenvalue has converged.
const tolerance = 1e-10

// eigenvalue is the inner loop: it computes one point.
func (j *job) eigenvalue(ctx context.Context, outer int, death *jobs.Death) (point, error) {
	matrix := j.lattice(outer)
	op, err := krylov.NewOperator(ctx, j.comm, j.team, matrix)
	if err != nil {
		return point{}, err
	}
	start, err := krylov.NewLanczos(ctx, op, j.seed)
	if err != nil {
		return point{}, err
	}
	j.process = *start // in new memory: that of the point before may still be being written
	iter := 0
	// It reads in the first point of a run. Later calls return at once.
	if err := j.inner.RestartIfNeeded(ctx, &iter); err != nil {
		return point{}, jobs.Explain(err)
	}
	j.began(outer, iter)
	converged := false
	for ; iter < j.iterations; iter++ {
		if converged, err = j.process.Done(ctx, 1, tolerance); err != nil || converged {
			break
		}
		if err := j.process.Step(ctx); err != nil {
			return point{}, err
		}
		if err := j.completed(ctx, place{outer, iter}, death); err != nil {
			return point{}, err
		}
		if err := j.save(ctx, iter); err != nil {
			return point{}, err
		}
	}
	return point{
		Disorder:   matrix.Disorder,
		Lowest:     tridiag.Lowest(j.process.Alpha, j.process.Beta),
		Converged:  converged,
		Iterations: len(j.process.Alpha),
		Digest:     j.process.Digest(len(j.process.Alpha)),
	}, err
}

// save writes an inner checkpoint if one is due, or asked for.
func (j *job) save(ctx context.Context, iter int) error {
	before := j.inner.Progress().Version
	err := j.inner.UpdateAndWrite(ctx, iter, j.innerFrequency)
	if now := j.inner.Progress(); j.Async == checkpoint.AsyncZeroCopy && now.Writing && now.Version != before {
		// The version is being written straight from the two vectors, which must
		// not change before the next call that writes has waited for it.
		j.process.Hold()
	}
	return j.tolerate(ctx, err)
}
