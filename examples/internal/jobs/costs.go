package jobs

import (
	"context"
	"runtime"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
)

// Report is the part of a program's result that is about what its checkpoints have
// cost, as in the paper (Shahzad et al., IEEE TPDS 30(3), 2019, section 5): the time
// that the program waited for them, and what their background writers took away from
// the processors. The names of the fields are those of the JSON object.
type Report struct {
	BytesWritten int64                `json:"bytes_written"` // sum over ranks
	Overheads    Overheads            `json:"overheads"`
	Async        checkpoint.AsyncMode `json:"async"`
	WriterCPU    float64              `json:"writer_cpu"` // processor time of the writers in seconds, sum over ranks
	// Percent is (cp + writer_cpu/cores) / wall-clock time of the run, in per cent.
	Percent float64 `json:"overhead_percent"`

	elapsed time.Duration // since its beginning, on the rank that has begun first
}

// Overheads in seconds, the largest of any rank.
type Overheads struct {
	Checkpoint    float64 `json:"cp"`   // waited for writes
	Restart       float64 `json:"res"`  // read a checkpoint
	Recovery      float64 `json:"rec"`  // repaired the communicator
	Recomputation float64 `json:"redo"` // did again what had been done before
}

// Times are what this rank has spent beside its checkpoints.
type Times struct {
	Elapsed  time.Duration // since the beginning of the program
	Recovery time.Duration // repairing the communicator
	Redo     time.Duration // doing again what had been done
}

// Sum adds up what checkpoints have done and cost on one rank.
func Sum(all ...checkpoint.Stats) (sum checkpoint.Stats) {
	for _, s := range all {
		sum.CheckpointTime += s.CheckpointTime
		sum.RestartTime += s.RestartTime
		sum.WriterCPU += s.WriterCPU
		sum.BytesWritten += s.BytesWritten
		sum.VersionsWritten += s.VersionsWritten
		sum.VersionsSkipped += s.VersionsSkipped
	}
	return sum
}

// Gather adds up the checkpoints of all ranks, those of earlier attempts
// included. It is collective; every rank gets the whole report but for Percent.
// What processes that were lost had spent is lost with them.
func Gather(ctx context.Context, c *comm.Comm, async checkpoint.AsyncMode, times Times, mine checkpoint.Stats) (Report, error) {
	longest := []float64{mine.CheckpointTime.Seconds(), mine.RestartTime.Seconds(), times.Recovery.Seconds(), times.Redo.Seconds(), times.Elapsed.Seconds()}
	if err := comm.Allreduce(ctx, c, longest, longest, comm.Max); err != nil {
		return Report{}, err
	}
	sums := []int64{mine.BytesWritten, int64(mine.WriterCPU)}
	if err := comm.Allreduce(ctx, c, sums, sums, comm.Sum); err != nil {
		return Report{}, err
	}
	return Report{
		BytesWritten: sums[0],
		Overheads:    Overheads{Checkpoint: longest[0], Restart: longest[1], Recovery: longest[2], Recomputation: longest[3]},
		Async:        async,
		WriterCPU:    time.Duration(sums[1]).Seconds(),
		elapsed:      time.Duration(longest[4] * float64(time.Second)),
	}, nil
}

// Over fills in Percent for a run of the given wall-clock time on all the
// processors that Go uses, and returns how many seconds the run has taken: a rank that has
// replaced another one has not seen all of it.
func (r *Report) Over(wall time.Duration) (seconds float64) {
	if wall = max(wall, r.elapsed); wall > 0 {
		r.Percent = 100 * (r.Overheads.Checkpoint + r.WriterCPU/float64(runtime.GOMAXPROCS(0))) / wall.Seconds()
	}
	return wall.Seconds()
}
