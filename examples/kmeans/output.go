package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"golang.org/x/term"

	"github.com/craft-go/craft/examples/kmeans/lloyd"
)

// shown is how many coordinates of a centre are printed for people.
const shown = 4

// print writes the result: a line of JSON, or a table for people.
func (r result) print(w io.Writer, c config) error {
	if c.JSON {
		return json.NewEncoder(w).Encode(r)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s points of %s, %s\n", humanize.Comma(r.Points), english.Plural(r.Dim, "coordinate", ""), english.Plural(len(r.Centres), "cluster", ""))
	fmt.Fprintf(&b, "%s on %s in %.2f s, inertia %.6g\n", english.Plural(r.Iterations, "iteration", ""), english.Plural(r.Ranks, "rank", ""), r.Seconds, r.Inertia)
	if r.Recoveries > 0 {
		fmt.Fprintf(&b, "%s (%.3f s): %s points came from the memory of other ranks", english.Plural(r.Recoveries, "recovery", "recoveries"), r.Recovery, humanize.Comma(r.Restored))
		if r.Anew > 0 {
			fmt.Fprintf(&b, ", %s were made or read again", humanize.Comma(r.Anew))
		}
		fmt.Fprintln(&b)
	}
	fmt.Fprintln(&b)
	t := tabwriter.NewWriter(&b, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "cluster\tpoints\tcentre\t")
	for i, centre := range r.Centres {
		fmt.Fprintf(t, "%d\t%d\t", i, r.Sizes[i])
		for _, x := range centre[:min(shown, len(centre))] {
			fmt.Fprintf(t, "%.6g\t", x)
		}
		if len(centre) > shown {
			fmt.Fprint(t, "...\t")
		}
		fmt.Fprintln(t)
	}
	t.Flush()
	fmt.Fprintf(&b, "\nReStore: %s of each block, %.1f %% of the time (submit %.3f s, load %.3f s, repair %.3f s)\n",
		english.Plural(r.Copies, "copy", "copies"), r.Percent, r.Restore.Submit, r.Restore.Load, r.Restore.Repair)
	_, err := w.Write(b.Bytes())
	return err
}

// show tells on a terminal how far the job is.
func (w *worker) show(iter int, sums *lloyd.Sums) {
	every := max(w.iterations/10, 1)
	if f, ok := w.stderr.(*os.File); ok && w.rank == 0 && (iter+1)%every == 0 && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintf(f, "iteration %d of %d, inertia %.6g\n", iter+1, w.iterations, sums.Inertia())
	}
}
