package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/dustin/go-humanize/english"

	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/examples/lanczos/tridiag"
)

// print writes the result: a line of JSON, or a table for people.
func (r result) print(w io.Writer, c config) error {
	if c.JSON {
		return json.NewEncoder(w).Encode(r)
	}
	var b bytes.Buffer
	r.headline(&b, c)
	r.table(&b, c)
	if !r.Converged {
		fmt.Fprintf(&b, "\nNot all of them have converged: see the residuals, and give more -iters.\n")
	}
	if r.VersionsWritten > 0 {
		fmt.Fprintf(&b, "\n%s in %s, %.1f MB; waited for: %.2f s",
			english.Plural(r.VersionsWritten, "checkpoint", ""), c.CPPath, float64(r.BytesWritten)/1e6, r.Overheads.Checkpoint)
		if c.Async != checkpoint.AsyncOff {
			fmt.Fprintf(&b, "; processor time of the writer (%s): %.2f s", c.Async, r.WriterCPU)
		}
		if r.Seconds >= telling {
			fmt.Fprintf(&b, "; overhead: %.1f %%", r.Percent)
		}
		fmt.Fprintln(&b)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// telling is how many seconds a run must have lasted for its overhead to say something
// about longer ones: a checkpoint that waits for the disk is much of one second.
const telling = 5

func (r result) headline(w io.Writer, c config) {
	switch {
	case c.file != "":
		fmt.Fprintf(w, "%s, ", c.file)
	case c.lattice.Clean():
		fmt.Fprintf(w, "clean graphene of %d x %d unit cells, ", c.lattice.NX, c.lattice.NY)
	default:
		fmt.Fprintf(w, "graphene of %d x %d unit cells with disorder %g, ", c.lattice.NX, c.lattice.NY, c.lattice.Disorder)
	}
	fmt.Fprintf(w, "%d rows\n%d iterations on %s in %.2f s", r.Rows, r.Iterations, english.Plural(r.Ranks, "rank", ""), r.Seconds)
	switch {
	case r.RestartedFrom >= r.Iterations:
		fmt.Fprint(w, ", all of them from the checkpoint")
	case r.RestartedFrom >= 0:
		fmt.Fprintf(w, ", of which this run did those from %d", r.RestartedFrom)
	}
	if r.Recoveries > 0 {
		fmt.Fprintf(w, ", with %s (%.3f s)", english.Plural(r.Recoveries, "recovery", ""), r.Overheads.Recovery)
	}
	fmt.Fprintf(w, "\n\n")
}

// table lists the lowest eigenvalues, beside the exact ones where those are
// known.
func (r result) table(w io.Writer, c config) {
	var exact []float64
	if c.file == "" && c.lattice.Clean() {
		// 3 is the largest eigenvalue: the same width as for the computed ones.
		exact = c.lattice.Lowest(len(r.Eigenvalues), 3*tridiag.Same)
	}
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\tlowest eigenvalues\tresidual\t")
	if exact != nil {
		fmt.Fprint(t, "exact\tdifference\t")
	}
	fmt.Fprintln(t)
	for i, e := range r.Eigenvalues {
		fmt.Fprintf(t, "%d\t%.12f\t%.1e\t", i+1, e, r.Residuals[i])
		if i < len(exact) {
			fmt.Fprintf(t, "%.12f\t%.1e\t", exact[i], e-exact[i])
		}
		fmt.Fprintln(t)
	}
	t.Flush()
}
