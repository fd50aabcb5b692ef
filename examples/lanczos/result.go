package main

import (
	"cmp"
	"context"

	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/examples/lanczos/krylov"
	"github.com/craft-go/craft/examples/lanczos/tridiag"
)

// result is what the program prints. The names of the fields are those of the
// JSON object.
type result struct {
	Eigenvalues []float64 `json:"eigenvalues"` // the lowest distinct ones, ascending
	Residuals   []float64 `json:"residuals"`   // no eigenvalue of the matrix is farther away
	Converged   bool      `json:"converged"`
	Rows        int64     `json:"rows"`

	jobs.Result // Digest is the SHA-256 of alpha and beta

	config config // for people
}

// convergedAt is the relative residual at which an eigenvalue counts as
// converged if there is no -tol.
const convergedAt = 1e-10

// finish makes the result. It is collective.
func (w *worker) finish(ctx context.Context, l *krylov.Lanczos, op *krylov.Operator) error {
	// A checkpoint may be from beyond a smaller -iters.
	steps := min(len(l.Alpha), w.Iterations)
	common, err := w.rank.Result(ctx, steps, l.Digest(steps))
	if err != nil || !w.rank.First() {
		return err
	}
	r := &result{Rows: op.Rows(), Result: common, config: w.config}
	spectrum, err := l.Spectrum(steps)
	if err != nil {
		return err
	}
	r.Converged = tridiag.Converged(spectrum, w.eigs, cmp.Or(w.tolerance, convergedAt)) || steps == len(l.Alpha) && l.Invariant()
	for _, e := range spectrum[:min(w.eigs, len(spectrum))] {
		r.Eigenvalues = append(r.Eigenvalues, e.Value)
		r.Residuals = append(r.Residuals, e.Residual)
	}
	w.rank.Finish(r)
	return nil
}
