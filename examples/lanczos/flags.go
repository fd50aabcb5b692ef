package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/examples/lanczos/graphene"
)

// config is what the command line says.
type config struct {
	jobs.Loop // -cp-freq 0: no checkpoints

	lattice graphene.Lattice
	seed    uint64
	file    string // Matrix Market file in place of the lattice

	tolerance float64
	eigs      int
}

const usage = `Usage: lanczos [flags]

Finds the lowest eigenvalues of a large sparse symmetric matrix by the Lanczos
method, and checkpoints itself: kill it at any time, run the same command again,
and it goes on where it was, to the same digits. Without flags it computes those
of clean graphene for about ten seconds.

Checkpoints are kept when it has finished: the same command then prints the same
result again, and goes on to a better one with a larger -iters; -fresh starts
over. A checkpoint also restarts on another number of -ranks. A directory
with the checkpoints of another matrix or seed is an error, not overwritten.

Ctrl-C or SIGTERM: it finishes the iteration, writes a checkpoint, copies it from
the nodes to the directory of the checkpoints if -levels has kept it there, and
exits with 130 after Ctrl-C, else with 75: start it again. A second Ctrl-C, a second
later, ends it at once. Other exit codes: 0 done, 1 failed, 2 wrong usage.

With -np the ranks are processes, and the job survives when some of them are
killed: the others go on from the newest checkpoint, with replacements or, with
-recovery SHRINKING, without; with -recovery ABORT -restarts 3 all are started
again. -kill and -kill-node show it. The same program runs
under craft run, on one machine or several. With -levels most checkpoints stay on
the nodes, with copies or parity on other nodes, and survive the loss of nodes.

The result goes to standard output, all else to standard error. What
checkpoints cost, overhead_percent of -json, is the time that the computation
waited for them (overheads.cp) plus the processor time of the background writers
(writer_cpu) divided by the cores, over the time of the run.

Flags:
`

func parseFlags(args []string, help io.Writer) (config, error) {
	var c config
	f := flag.NewFlagSet("lanczos", flag.ContinueOnError)
	c.RegisterSteps(f, 3000)
	f.Int64Var(&c.lattice.NX, "nx", 500, "unit cells of graphene in x; the matrix has 2*nx*ny rows")
	f.Int64Var(&c.lattice.NY, "ny", 500, "unit cells of graphene in y")
	f.Float64Var(&c.lattice.Disorder, "disorder", 0, "potential of each site, uniform in [-`d`/2, d/2)")
	f.Uint64Var(&c.seed, "seed", 1, "`seed` of the disorder and of the start vector")
	f.StringVar(&c.file, "mtx", "", "read the matrix from a Matrix Market `file` (.mtx or .mtx.gz) in place of graphene:\nreal, integer or pattern; general (but symmetric) or symmetric")
	f.Float64Var(&c.tolerance, "tol", 0, "stop earlier when the residuals of the -eigs lowest eigenvalues are below\n`tol` times the largest one; 0: do not")
	f.IntVar(&c.eigs, "eigs", 5, "number `k` of eigenvalues: the k lowest distinct ones")
	f.IntVar(&c.Frequency, "cp-freq", 100, "write a checkpoint in every iteration that is a multiple of `n`; 0: never, nor read one")
	set, err := c.Parse(f, args, usage, help)
	if err != nil {
		return c, err
	}
	c.lattice.Seed = c.seed
	if c.file != "" && (set["nx"] || set["ny"] || set["disorder"]) {
		return c, errors.New("-mtx reads the matrix from a file: -nx, -ny and -disorder cannot go with it")
	}
	if err := c.Check(set, c.name()); err != nil {
		return c, err
	}
	return c, c.validate()
}

func (c config) validate() error {
	if c.file == "" {
		if err := c.lattice.Validate(); err != nil {
			return fmt.Errorf("-nx, -ny, -disorder: %w", err)
		}
	}
	switch {
	case c.tolerance < 0 || math.IsNaN(c.tolerance) || c.tolerance >= 1:
		return fmt.Errorf("-tol %v: it must be at least 0 and less than 1", c.tolerance)
	case c.eigs < 1:
		return fmt.Errorf("-eigs %d: it must be at least 1", c.eigs)
	case c.Frequency < 0:
		return fmt.Errorf("-cp-freq %d: it must be at least 0", c.Frequency)
	}
	return nil
}

// name of the matrix: each has a directory of its own, so that trying one after the
// other needs no care.
func (c config) name() string {
	if c.file != "" {
		base := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(c.file), ".gz"), ".mtx")
		return fmt.Sprintf("%s-seed%d", base, c.seed)
	}
	return fmt.Sprintf("graphene-%dx%d-disorder%g-seed%d", c.lattice.NX, c.lattice.NY, c.lattice.Disorder, c.seed)
}
