package main

import (
	"cmp"
	"context"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/examples/lanczos/krylov"
	"github.com/craft-go/craft/examples/lanczos/tridiag"
)

// result is what the program prints. The names of the fields are those of the
// JSON object.
type result struct {
	Eigenvalues     []float64 `json:"eigenvalues"` // the lowest distinct ones, ascending
	Residuals       []float64 `json:"residuals"`   // no eigenvalue of the matrix is farther away
	Converged       bool      `json:"converged"`
	Iterations      int       `json:"iterations"`
	RestartedFrom   int       `json:"restarted_from"` // -1: not restarted
	Recoveries      int       `json:"recoveries"`
	Ranks           int       `json:"ranks"`
	Rows            int64     `json:"rows"`
	VersionsWritten int       `json:"versions_written"`
	Levels          string    `json:"levels,omitempty"` // the policy
	Seconds         float64   `json:"seconds"`
	Digest          string    `json:"digest"` // SHA-256 of alpha and beta

	jobs.Report
}

// convergedAt is the relative residual at which an eigenvalue counts as
// converged if there is no -tol.
const convergedAt = 1e-10

// newResult is collective. The eigenvalues are on rank 0 only.
func (w *worker) newResult(ctx context.Context, z *aft.Zone, l *krylov.Lanczos, op *krylov.Operator, stats checkpoint.Stats) (result, error) {
	c, all := z.Comm(), jobs.Sum(w.earlier, stats)
	times := jobs.Times{Elapsed: time.Since(w.began), Recovery: z.Stats().Recovery, Redo: w.history.Redo}
	report, err := jobs.Gather(ctx, c, w.Async, times, all)
	if err != nil {
		return result{}, err
	}
	// Who has replaced another rank does not know of earlier ones.
	versions, err := comm.AllreduceOne(ctx, c, all.VersionsWritten, comm.Max)
	if err != nil || w.rank != 0 {
		return result{}, err
	}
	// A checkpoint may be from beyond a smaller -iters.
	steps := min(len(l.Alpha), w.iterations)
	r := result{
		Iterations:      steps,
		RestartedFrom:   int(w.restartedFrom),
		Recoveries:      z.Epoch(),
		Ranks:           c.Size(),
		Rows:            op.Rows(),
		VersionsWritten: versions,
		Levels:          w.Policy,
		Digest:          l.Digest(steps),
		Report:          report,
	}
	spectrum, err := l.Spectrum(steps)
	if err != nil {
		return result{}, err
	}
	r.Converged = tridiag.Converged(spectrum, w.eigs, cmp.Or(w.tolerance, convergedAt)) || steps == len(l.Alpha) && l.Invariant()
	for _, e := range spectrum[:min(w.eigs, len(spectrum))] {
		r.Eigenvalues = append(r.Eigenvalues, e.Value)
		r.Residuals = append(r.Residuals, e.Residual)
	}
	return r, nil
}
