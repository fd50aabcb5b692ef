package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/examples/internal/overhead"
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
	Seconds         float64   `json:"seconds"`
	Digest          string    `json:"digest"` // SHA-256 of alpha and beta

	overhead.Report
}

// convergedAt is the relative residual at which an eigenvalue counts as
// converged if there is no -tol.
const convergedAt = 1e-10

// totals is what this rank has spent.
type totals struct {
	history history
	stats   checkpoint.Stats
}

// result is collective. The eigenvalues are on rank 0 only.
func (j *job) result(ctx context.Context, c comm.Comm, l *krylov.Lanczos, op *krylov.Operator, t totals) (result, error) {
	report, err := overhead.Gather(ctx, c, j.async, t.history.redo, t.stats)
	if err != nil || c.Rank() != 0 {
		return result{}, err
	}
	// A checkpoint may be from beyond a smaller -iters.
	steps := min(len(l.Alpha), j.iterations)
	r := result{
		Iterations:      steps,
		RestartedFrom:   t.history.restartedFrom,
		Ranks:           c.Size(),
		Rows:            op.Rows(),
		VersionsWritten: t.stats.VersionsWritten,
		Digest:          digest(l.Alpha[:steps], l.Beta[:steps]),
		Report:          report,
	}
	spectrum, err := l.Spectrum(steps)
	if err != nil {
		return result{}, err
	}
	tolerance := j.tolerance
	if tolerance == 0 {
		tolerance = convergedAt
	}
	r.Converged = tridiag.Converged(spectrum, j.eigs, tolerance) || steps == len(l.Alpha) && l.Invariant()
	for _, e := range spectrum[:min(j.eigs, len(spectrum))] {
		r.Eigenvalues = append(r.Eigenvalues, e.Value)
		r.Residuals = append(r.Residuals, e.Residual)
	}
	return r, nil
}

// digest is the SHA-256, in hexadecimal, of all numbers as little-endian
// float64.
func digest(lists ...[]float64) string {
	hash := sha256.New()
	for _, list := range lists {
		for _, v := range list {
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], math.Float64bits(v))
			hash.Write(b[:])
		}
	}
	return hex.EncodeToString(hash.Sum(nil))
}
