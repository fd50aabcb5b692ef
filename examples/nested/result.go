package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/internal/jobs"
)

// result is what the program prints. The names of the fields are those of the
// JSON object.
type result struct {
	Points               int     `json:"points"`
	Results              []point `json:"results"`
	RestartedFrom        int     `json:"restarted_from"`       // -1: not restarted
	InnerRestartedFrom   int     `json:"inner_restarted_from"` // -1: the first point began at its beginning
	Recoveries           int     `json:"recoveries"`
	Ranks                int     `json:"ranks"`
	Rows                 int64   `json:"rows"`
	VersionsWritten      int     `json:"versions_written"` // of the outer checkpoint
	InnerVersionsWritten int     `json:"inner_versions_written"`
	InnerVersionsSkipped int     `json:"inner_versions_skipped"` // no restart could have reached them
	Levels               string  `json:"levels,omitempty"`       // the policy of the inner checkpoint
	Seconds              float64 `json:"seconds"`
	Digest               string  `json:"digest"` // SHA-256 of all results

	jobs.Report
}

// newResult is collective.
func (j *job) newResult(ctx context.Context) (result, error) {
	times := jobs.Times{Elapsed: time.Since(j.sweeper.began), Recovery: j.zone.Stats().Recovery, Redo: j.history.Redo}
	report, err := jobs.Gather(ctx, j.comm, j.Async, times, jobs.Sum(j.ofSweep, j.ofInner))
	if err != nil {
		return result{}, err
	}
	// Who has replaced another rank does not know of earlier ones.
	versions := []int{j.ofSweep.VersionsWritten, j.ofInner.VersionsWritten}
	if err := comm.Allreduce(ctx, j.comm, versions, versions, comm.Max); err != nil {
		return result{}, err
	}
	return result{
		Points:               j.points,
		Results:              j.results,
		RestartedFrom:        int(j.restartedFrom),
		InnerRestartedFrom:   int(j.innerRestartedFrom),
		Recoveries:           j.zone.Epoch(),
		Ranks:                j.comm.Size(),
		Rows:                 j.lattice(0).Rows(),
		VersionsWritten:      versions[0],
		InnerVersionsWritten: versions[1],
		InnerVersionsSkipped: j.ofInner.VersionsSkipped,
		Levels:               j.Policy,
		Digest:               digest(j.results),
		Report:               report,
	}, nil
}

// digest is the SHA-256, in hexadecimal, of disorder and eigenvalue as
// little-endian float64, of the iterations as little-endian uint64, and of the
// text of the digest, of all points.
func digest(results []point) string {
	h := sha256.New()
	for _, p := range results {
		// A hash takes everything.
		_ = binary.Write(h, binary.LittleEndian, []float64{p.Disorder, p.Lowest})
		_ = binary.Write(h, binary.LittleEndian, uint64(p.Iterations))
		io.WriteString(h, p.Digest)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// print writes the result: a line of JSON, or a table for people.
func (r result) print(w io.Writer, c config) error {
	if c.JSON {
		return json.NewEncoder(w).Encode(r)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "graphene of %d x %d unit cells, %d rows\n", c.nx, c.ny, r.Rows)
	fmt.Fprintf(&b, "%d points, ranks: %d, in %.2f s", r.Points, r.Ranks, r.Seconds)
	if r.RestartedFrom >= 0 {
		fmt.Fprintf(&b, "; points before %d were read from the checkpoint", r.RestartedFrom)
	}
	if r.Recoveries > 0 {
		fmt.Fprintf(&b, "; recoveries: %d (%.3f s)", r.Recoveries, r.Overheads.Recovery)
	}
	fmt.Fprint(&b, "\n\n")
	t := tabwriter.NewWriter(&b, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\tdisorder\tlowest eigenvalue\titerations\t\n")
	for i, p := range r.Results {
		note := ""
		if !p.Converged {
			note = "*"
		}
		fmt.Fprintf(t, "%d\t%.4f\t%.12f%s\t%d\t\n", i, p.Disorder, p.Lowest, note, p.Iterations)
	}
	t.Flush()
	for _, p := range r.Results {
		if !p.Converged {
			fmt.Fprint(&b, "\n* not converged: give more -iters\n")
			break
		}
	}
	fmt.Fprintf(&b, "\ncheckpoints: %d outer, %d inner in %s, %.1f MB; waited for: %.2f s; overhead: %.1f %%\n",
		r.VersionsWritten, r.InnerVersionsWritten, c.CPPath, float64(r.BytesWritten)/1e6, r.Overheads.Checkpoint, r.Percent)
	_, err := w.Write(b.Bytes())
	return err
}
