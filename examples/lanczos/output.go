package main

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/craft-go/craft/examples/lanczos/tridiag"
)

// Print writes the result for people.
func (r *result) Print(w io.Writer) error {
	var b bytes.Buffer
	r.headline(&b)
	r.PrintRun(&b)
	fmt.Fprintln(&b)
	r.table(&b)
	if !r.Converged {
		fmt.Fprintf(&b, "\nNot all of them have converged: see the residuals, and give more -iters.\n")
	}
	if r.VersionsWritten > 0 {
		fmt.Fprintln(&b)
		r.PrintCheckpoints(&b, r.config.CPPath)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (r *result) headline(w io.Writer) {
	switch c := r.config; {
	case c.file != "":
		fmt.Fprintf(w, "%s, ", c.file)
	case c.lattice.Clean():
		fmt.Fprintf(w, "clean graphene of %d x %d unit cells, ", c.lattice.NX, c.lattice.NY)
	default:
		fmt.Fprintf(w, "graphene of %d x %d unit cells with disorder %g, ", c.lattice.NX, c.lattice.NY, c.lattice.Disorder)
	}
	fmt.Fprintf(w, "%d rows\n", r.Rows)
}

// table lists the lowest eigenvalues, beside the exact ones where those are
// known.
func (r *result) table(w io.Writer) {
	c := r.config
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
