package main

import (
	"flag"
	"fmt"
	"io"

	"github.com/craft-go/craft/examples/cg/stencil"
	"github.com/craft-go/craft/examples/internal/jobs"
)

// config is what the command line says.
type config struct {
	jobs.Loop

	nx, ny, nz int // of each rank that the job begins with
	planes     int // of all ranks together; 0: nz of each
	tolerance  float64
}

const usage = `Usage: cg [flags]

Solves a linear system by the method of conjugate gradients, as HPCCG (Mantevo) does: 27
points around each point of a grid, whose solution is 1 everywhere. It survives the
failure of ranks and nodes, and ends with the bits of a run without failures, on any
number of ranks.

Each rank begins with a grid of -nx x -ny x -nz points, and these are stacked in z: twice
the ranks are a problem of twice the size. That size is the job's: it stays the same when
ranks are lost and not replaced. A job that is started again on another number of ranks
is told by -planes how many planes there are, in all: the result of the first start says it.

  cg -np 4 -kill 2@70 -recovery SHRINKING       # 4 x 32 planes, at last on 3 ranks
  cg -np 4 -nx 64 -ny 64 -nz 64                 # the size of the Reinit paper

Each iteration has its checkpoint, so whatever ends the program takes no more than one
away: run the same command again, and it goes on. Exit codes: 0 done, 1 failed, 2 wrong
usage, 75 asked to end by SIGTERM and saved (130: by Ctrl-C). The result goes to standard output, all else to standard error.

Flags:
`

func parseFlags(args []string, help io.Writer) (config, error) {
	var c config
	f := flag.NewFlagSet("cg", flag.ContinueOnError)
	c.Register(f, 150, 1)
	f.IntVar(&c.nx, "nx", 32, "`points` in x")
	f.IntVar(&c.ny, "ny", 32, "`points` in y")
	f.IntVar(&c.nz, "nz", 32, "`planes`, points in z, for each rank that the job begins with")
	f.IntVar(&c.planes, "planes", 0, "`planes` of all ranks together, whatever their number (default -nz for each rank that the job begins with)")
	f.Float64Var(&c.tolerance, "tol", 0, "stop earlier when the norm of the residual is not above `tol` times that of the right-hand side")
	set, err := c.Parse(f, args, usage, help)
	if err != nil {
		return c, err
	}
	if err := c.Check(set, ""); err != nil { // grid knows the name
		return c, err
	}
	return c, c.validate(set)
}

func (c config) validate(set map[string]bool) error {
	if err := (stencil.Grid{NX: c.nx, NY: c.ny, Planes: c.nz}).Validate(); err != nil {
		return fmt.Errorf("-nx, -ny, -nz: %w", err)
	}
	switch {
	case set["planes"] && c.planes < 1:
		return fmt.Errorf("-planes %d: it must be at least 1", c.planes)
	case !(c.tolerance >= 0 && c.tolerance < 1):
		return fmt.Errorf("-tol %v: it must be at least 0 and less than 1", c.tolerance)
	}
	return nil
}
