package main

import (
	"flag"
	"fmt"
	"io"
	"math"

	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/examples/md/cells"
	"github.com/craft-go/craft/examples/md/copper"
	"github.com/craft-go/craft/examples/md/domain"
	"github.com/craft-go/craft/examples/md/lj"
)

// config is what the command line says.
type config struct {
	jobs.Loop

	crystal     copper.Lattice
	cutoff      float64 // in units of sigma
	temperature float64 // K, at the beginning
	dt          float64 // fs
	seed        uint64  // of the velocities

	grid cells.Grid // follows
}

const usage = `Usage: md [flags]

Computes how the atoms of a crystal of copper move (molecular dynamics with the
Lennard-Jones potential, as CoMD), and checkpoints itself after each step: kill it at any
time, run the same command again, and it goes on where it was, to the same digits, also
on another number of ranks.

Without flags it computes for some seconds. The run of the Reinit++ paper is

  md -nx 80 -ny 40 -nz 40 -iters 20 -np 16

With -np the ranks are processes, and the job survives when some of them are killed: the
others go on from the newest checkpoint, with replacements or, with -recovery SHRINKING,
without. -kill and -kill-node show it.

Checkpoints are kept when it has finished: the same command then goes on from the last
one, to the same result, and with a larger -iters farther; -fresh starts over.

Exit codes: 0 done, 1 failed, 2 wrong usage, 75 asked to end by
SIGTERM and saved (130: by Ctrl-C). The result goes to standard output, all else
to standard error.

Flags:
`

func parseFlags(args []string, help io.Writer) (config, error) {
	var c config
	f := flag.NewFlagSet("md", flag.ContinueOnError)
	c.Register(f, 100, 1)
	f.IntVar(&c.crystal.NX, "nx", 20, "unit cells of the crystal in x, of all ranks together; each has four atoms")
	f.IntVar(&c.crystal.NY, "ny", 20, "unit cells in y")
	f.IntVar(&c.crystal.NZ, "nz", 20, "unit cells in z")
	f.Float64Var(&c.cutoff, "cutoff", 2.5, "atoms that are farther away than `x` sigma (2.315 Å) do not act on each other")
	f.Float64Var(&c.temperature, "temperature", 600, "of the perfect crystal at the beginning, in `K`; half of it goes into the motion of the lattice")
	f.Float64Var(&c.dt, "dt", 1, "time step in `fs`")
	f.Uint64Var(&c.seed, "seed", 1, "`seed` of the velocities at the beginning")
	set, err := c.Parse(f, args, usage, help)
	if err != nil {
		return c, err
	}
	if err := c.Check(set, c.name()); err != nil {
		return c, err
	}
	return c, c.validate()
}

func (c *config) validate() (err error) {
	if err := c.crystal.Validate(); err != nil {
		return fmt.Errorf("-nx, -ny, -nz: %w", err)
	}
	switch {
	case !(c.cutoff > 0):
		return fmt.Errorf("-cutoff %v: it must be more than 0", c.cutoff)
	case !(c.temperature >= 0) || math.IsInf(c.temperature, 1):
		return fmt.Errorf("-temperature %v: it must be at least 0", c.temperature)
	case !(c.dt > 0) || math.IsInf(c.dt, 1):
		return fmt.Errorf("-dt %v: it must be more than 0", c.dt)
	}
	if c.grid, err = cells.New(c.crystal.Box(), c.cutoff*copper.Sigma); err != nil {
		return fmt.Errorf("-nx, -ny, -nz, -cutoff: %w", err)
	}
	return nil
}

// system is what is computed.
func (c *config) system() domain.System {
	return domain.System{
		Grid: c.grid,
		Pair: lj.New(copper.Sigma, copper.Epsilon, c.cutoff*copper.Sigma),
		Mass: copper.Mass, Atoms: int(c.crystal.Atoms()),
	}
}

// fingerprint is what makes two runs runs of the same problem. A checkpoint of
// another one is not used.
type fingerprint struct {
	NX          int     `json:"nx"`
	NY          int     `json:"ny"`
	NZ          int     `json:"nz"`
	Cutoff      float64 `json:"cutoff"`
	Temperature float64 `json:"temperature"`
	DT          float64 `json:"dt"`
	Seed        uint64  `json:"seed"`
}

func (c *config) fingerprint() fingerprint {
	return fingerprint{c.crystal.NX, c.crystal.NY, c.crystal.NZ, c.cutoff, c.temperature, c.dt, c.seed}
}

// name of the problem.
func (c *config) name() string {
	return fmt.Sprintf("copper-%dx%dx%d-cutoff%g-%gK-%gfs-seed%d", c.crystal.NX, c.crystal.NY, c.crystal.NZ, c.cutoff, c.temperature, c.dt, c.seed)
}
