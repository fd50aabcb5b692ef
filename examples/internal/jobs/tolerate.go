package jobs

import (
	"context"
	"errors"
	"log/slog"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
)

// Tolerate lets the computation go on after a version could not be written: the
// one before is intact, and the next one may succeed. The failure of a process is
// not tolerated: the zone has to know; nor is the end of the job. Rank 0 warns.
func Tolerate(ctx context.Context, log *slog.Logger, rank comm.Rank, err error) error {
	if err == nil || Broken(ctx, err) {
		return err
	}
	if rank == 0 {
		log.Warn("no checkpoint; the computation goes on", "error", err)
	}
	return nil
}

// Broken reports whether an error means that the attempt cannot go on: a process
// has failed, or this one counts as failed, or the job is to end.
func Broken(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, comm.ErrProcFailed) || errors.Is(err, comm.ErrRevoked) || errors.Is(err, comm.ErrFenced) ||
		errors.Is(err, checkpoint.ErrDeadline)
}
