package main

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/term"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/examples/lanczos/krylov"
	"github.com/craft-go/craft/examples/lanczos/sparse"
)

// job is the part of one rank in one attempt.
type job struct {
	*sweeper
	*worker
	zone *aft.Zone
	comm *comm.Comm // of the zone

	sweep   *checkpoint.Checkpoint // outer: the results
	results []point

	inner   *checkpoint.Checkpoint // nested in it: the computation of one point
	process krylov.Lanczos

	team     *sparse.Team
	reported bool // from where it goes on
}

// point is the result of one of the points.
type point struct {
	Disorder   float64 `json:"disorder"`
	Lowest     float64 `json:"lowest"`
	Converged  bool    `json:"converged"`
	Iterations int     `json:"iterations"`
	Digest     string  `json:"digest"` // SHA-256 of alpha and beta
}

// solve is one attempt at the whole computation. It begins anew, on the ranks
// that there are now, and goes on from the newest checkpoints.
func (j *job) solve(ctx context.Context) (result, error) {
	cores, err := jobs.Cores(ctx, j.comm)
	if err != nil {
		return result{}, err
	}
	j.team = sparse.NewTeam(cores)
	if err := j.history.Share(ctx, j.zone, &j.restartedFrom, &j.innerRestartedFrom); err != nil {
		return result{}, err
	}
	if err := j.newSweep(); err != nil {
		return result{}, err
	}
	defer j.sweep.Close()
	if err := j.newInner(); err != nil {
		return result{}, err
	}
	defer j.inner.Close()
	if err := j.sweep.SubCP(j.inner); err != nil {
		return result{}, err
	}
	err = j.iterate(ctx)
	j.ofSweep = jobs.Sum(j.ofSweep, j.sweep.Stats())
	j.ofInner = jobs.Sum(j.ofInner, j.inner.Stats())
	if err != nil {
		return result{}, err
	}
	return j.newResult(ctx)
}

// newSweep registers what the outer loop has computed.
func (j *job) newSweep() (err error) {
	// Its versions are few and small: each of them survives the loss of all nodes.
	if j.sweep, err = checkpoint.New("sweep", j.comm, append(j.options(), checkpoint.DisableSCR())...); err != nil {
		return err
	}
	j.sweep.Add("results", cptypes.Replicated(&j.results)) // a slice of structs
	return j.sweep.Commit()                                // also returns the first error of Add
}

// newInner registers the state of the inner loop. It is the same checkpoint for
// all points: they compute in the same variables, one after the other.
func (j *job) newInner() (err error) {
	if j.inner, err = checkpoint.New("lanczos", j.comm, j.options()...); err != nil {
		return err
	}
	rows := j.lattice(0).Rows()
	lo, hi := krylov.Partition{Rows: rows, Ranks: j.comm.Size()}.Range(j.comm.Rank())
	vector := func(v *[]float64) cptypes.Value {
		return cptypes.Partitioned(v, int(lo), int(hi), int(rows))
	}
	j.inner.Add("alpha", cptypes.Replicated(&j.process.Alpha))
	j.inner.Add("beta", cptypes.Replicated(&j.process.Beta))
	j.inner.Add("previous", vector(&j.process.Previous))
	j.inner.Add("current", vector(&j.process.Current))
	return j.inner.Commit()
}

// iterate is the outer loop.
func (j *job) iterate(ctx context.Context) error {
	outer := 0
	if err := j.sweep.RestartIfNeeded(ctx, &outer); err != nil {
		return jobs.Explain(err)
	}
	death, err := j.newDeath()
	if err != nil {
		return err
	}
	j.beginAttempt(outer, death)
	for ; outer < j.points; outer++ {
		p, err := j.eigenvalue(ctx, outer, death)
		if err != nil {
			return err
		}
		j.results = append(j.results, p)
		j.show(outer, p)
		if err := j.tolerate(ctx, j.sweep.UpdateAndWrite(ctx, outer, j.outerFrequency)); err != nil {
			return err
		}
	}
	if err := j.wait(ctx); err != nil { // asynchronous writes belong to the job
		return err
	}
	// What comes later finds that all is done, and computes nothing.
	return j.tolerate(ctx, j.sweep.Finish(ctx, outer-1))
}

// show tells on a terminal how far the job is: the table comes at its end.
func (j *job) show(outer int, p point) {
	if f, ok := j.stderr.(*os.File); ok && j.rank == 0 && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintf(f, "point %d is done, after %d iterations; %d more\n", outer, p.Iterations, j.points-1-outer)
	}
}

// wait waits for the versions that are being written in the background.
func (j *job) wait(ctx context.Context) error {
	if err := j.tolerate(ctx, j.inner.Wait(ctx)); err != nil {
		return err
	}
	return j.tolerate(ctx, j.sweep.Wait(ctx))
}

// tolerate lets the computation go on without a version.
func (j *job) tolerate(ctx context.Context, err error) error {
	return jobs.Tolerate(ctx, j.log, j.rank, err)
}

// fingerprint is what must not change between the runs of one job.
type fingerprint struct {
	NX         int64   `json:"nx"`
	NY         int64   `json:"ny"`
	From       float64 `json:"from"`
	To         float64 `json:"to"`
	Points     int     `json:"points"`
	Iterations int     `json:"iters"`
	Seed       uint64  `json:"seed"`
}

// options are those of both checkpoints.
func (j *job) options() []checkpoint.Option {
	problem := fingerprint{j.nx, j.ny, j.from, j.to, j.points, j.iterations, j.seed}
	return append(j.CheckpointOptions(), checkpoint.WithFingerprint(problem), checkpoint.WithLogger(j.log))
}
