package jobs

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
)

// Result is the part of a program's result that all have. The names of the fields are
// those of the JSON object.
type Result struct {
	Iterations      int     `json:"iterations"`
	RestartedFrom   int     `json:"restarted_from"` // -1: not restarted
	Recoveries      int     `json:"recoveries"`
	Ranks           int     `json:"ranks"`
	VersionsWritten int     `json:"versions_written"`
	Levels          string  `json:"levels,omitempty"` // the policy
	Seconds         float64 `json:"seconds"`
	Digest          string  `json:"digest"` // SHA-256 of what was computed

	Report
}

// Outcome is a whole result: a pointer to a struct in which Result is embedded.
type Outcome interface {
	resulted
	Print(w io.Writer) error // for people
}

type resulted interface{ common() *Result }

var _ resulted = (*Result)(nil)

func (r *Result) common() *Result { return r }

// Result is what this run has done for a result that has some iterations behind it and a
// digest. It is collective, and all ranks get it, but for Seconds and Percent.
func (r *Rank) Result(ctx context.Context, iterations int, digest string) (Result, error) {
	z, all := r.zone, Sum(r.earlier, r.cp.Stats())
	times := Times{Elapsed: time.Since(r.began), Recovery: z.Stats().Recovery, Redo: r.history.Redo}
	report, err := Gather(ctx, z.Comm(), r.Async, times, all)
	if err != nil {
		return Result{}, err
	}
	// Who has replaced another rank does not know of earlier ones.
	versions, err := comm.AllreduceOne(ctx, z.Comm(), all.VersionsWritten, comm.Max)
	return Result{
		Iterations:      iterations,
		RestartedFrom:   int(r.restartedFrom),
		Recoveries:      z.Epoch(),
		Ranks:           z.Comm().Size(),
		VersionsWritten: versions,
		Levels:          r.Policy,
		Digest:          digest,
		Report:          report,
	}, err
}

// PrintRun writes a line: what the run was.
func (r *Result) PrintRun(w io.Writer) {
	fmt.Fprintf(w, "%s on %s in %.2f s", english.Plural(r.Iterations, "iteration", ""), english.Plural(r.Ranks, "rank", ""), r.Seconds)
	switch {
	case r.RestartedFrom >= r.Iterations:
		fmt.Fprint(w, ", all of them from the checkpoint")
	case r.RestartedFrom >= 0:
		fmt.Fprintf(w, ", of which this run did those from %d", r.RestartedFrom)
	}
	if r.Recoveries > 0 {
		fmt.Fprintf(w, ", with %s (%.3f s)", english.Plural(r.Recoveries, "recovery", ""), r.Overheads.Recovery)
	}
	fmt.Fprintln(w)
}

// telling is how many seconds a run must have lasted for its overhead to say something
// about longer ones: a checkpoint that waits for the disk is much of one second.
const telling = 5

// PrintCheckpoints writes a line, if there were any: where they are, and what they have cost.
func (r *Result) PrintCheckpoints(w io.Writer, directory string) {
	if r.VersionsWritten == 0 {
		return
	}
	fmt.Fprintf(w, "%s in %s, %.1f MB; waited for: %.2f s",
		english.Plural(r.VersionsWritten, "checkpoint", ""), directory, float64(r.BytesWritten)/1e6, r.Overheads.Checkpoint)
	if r.Async != checkpoint.AsyncOff {
		fmt.Fprintf(w, "; processor time of the writer (%s): %.2f s", r.Async, r.WriterCPU)
	}
	if r.Seconds >= telling {
		fmt.Fprintf(w, "; overhead: %.1f %%", r.Percent)
	}
	fmt.Fprintln(w)
}
