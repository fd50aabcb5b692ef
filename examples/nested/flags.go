package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/examples/lanczos/graphene"
)

// config is what the command line says.
type config struct {
	jobs.Flags

	nx, ny     int64
	from, to   float64 // disorder
	points     int
	seed       uint64
	iterations int // of each point, at most

	outerFrequency int
	innerFrequency int
	dieAt          place
}

// place is where the computation is: in an iteration of a point.
type place struct{ outer, inner int }

// nowhere is no place.
var nowhere = place{outer: -1}

// number is the step of the whole computation.
func (p place) number() int64 { return int64(p.outer)<<32 + int64(p.inner) }

// set reads OUTER:INNER.
func (p *place) set(text string) error {
	outer, inner, _ := strings.Cut(text, ":")
	o, errO := strconv.ParseUint(outer, 10, 31)
	i, errI := strconv.ParseUint(inner, 10, 31)
	if errO != nil || errI != nil {
		return errors.New("it must be OUTER:INNER, two numbers that count from 0")
	}
	*p = place{int(o), int(i)}
	return nil
}

const usage = `Usage: nested [flags]

Finds the lowest eigenvalue of graphene for several strengths of its disorder,
and checkpoints itself, after each point and inside of them: kill it at any time,
run the same command again, and it goes on where it was, to the same digits.
Without flags it runs for about five seconds. With -np the ranks are processes, and
the job survives when some of them are killed. With -levels the checkpoints inside
of a point stay on the nodes, those after each point are on the parallel file
system.

Checkpoints are kept when it has finished: the same command then prints the same result; -fresh starts over. A directory with
the checkpoints of other parameters is an error, not overwritten. Exit codes: 0
done, 1 failed, 2 wrong usage, 75 asked to end by SIGTERM and saved (130: by Ctrl-C). The result goes to standard output, all else to
standard error.

Flags:
`

func parseFlags(args []string, help io.Writer) (config, error) {
	c := config{dieAt: nowhere}
	f := flag.NewFlagSet("nested", flag.ContinueOnError)
	c.Register(f)
	f.Int64Var(&c.nx, "nx", 280, "unit cells of graphene in x; the matrix has 2*nx*ny rows")
	f.Int64Var(&c.ny, "ny", 280, "unit cells of graphene in y")
	f.Float64Var(&c.from, "from", 0.5, "`disorder` of the first point: the potential of each site is uniform in [-d/2, d/2)")
	f.Float64Var(&c.to, "to", 5, "`disorder` of the last point")
	f.IntVar(&c.points, "points", 10, "`number` of points")
	f.Uint64Var(&c.seed, "seed", 1, "`seed` of the disorder and of the start vectors")
	f.IntVar(&c.iterations, "iters", 2000, "at each point, stop after this many iterations if the eigenvalue has not converged before")
	f.IntVar(&c.outerFrequency, "outer-freq", 1, "store the results after every point that is a multiple of `n`, counted from 0")
	f.IntVar(&c.innerFrequency, "inner-freq", 100, "write an inner checkpoint in every iteration that is a multiple of `n`")
	f.StringVar(&c.CPPath, "cp-path", "", "`directory` of the checkpoints (default $CRAFT_CP_PATH, or else a directory\nnamed after the parameters in ./nested-checkpoints)")
	f.BoolVar(&c.Fresh, "fresh", false, "start over, also if there are checkpoints")
	f.Func("die-at", "to try it out: kill the process (that of rank 0) with SIGKILL after iteration INNER of point OUTER (`o:i`, counted from 0),\nonce per job; asynchronous writes under way may end first", c.dieAt.set)
	set, err := c.Parse(f, args, usage, help)
	if err != nil {
		return c, err
	}
	c.CPPath = cmp.Or(c.CPPath, os.Getenv("CRAFT_CP_PATH"), filepath.Join("nested-checkpoints", c.name()))
	if err := c.Check(set); err != nil {
		return c, err
	}
	return c, c.validate()
}

func (c config) validate() error {
	for _, end := range []struct {
		flag  string
		value float64
	}{{"-from", c.from}, {"-to", c.to}} {
		if !(end.value >= 0 && end.value <= math.MaxFloat32) {
			return fmt.Errorf("%s %v: it must be 0 or more, and finite", end.flag, end.value)
		}
	}
	if err := c.lattice(0).Validate(); err != nil {
		return fmt.Errorf("-nx, -ny: %w", err)
	}
	switch {
	case c.points < 1:
		return fmt.Errorf("-points %d: it must be at least 1", c.points)
	case c.iterations < 1:
		return fmt.Errorf("-iters %d: it must be at least 1", c.iterations)
	case c.outerFrequency < 1:
		return fmt.Errorf("-outer-freq %d: it must be at least 1", c.outerFrequency)
	case c.innerFrequency < 1:
		return fmt.Errorf("-inner-freq %d: it must be at least 1", c.innerFrequency)
	}
	return nil
}

// lattice is the matrix of a point.
func (c config) lattice(outer int) graphene.Lattice {
	disorder := c.from
	if c.points > 1 {
		disorder += (c.to - c.from) * float64(outer) / float64(c.points-1)
	}
	return graphene.Lattice{NX: c.nx, NY: c.ny, Disorder: disorder, Seed: c.seed}
}

// name of the sweep: each has a directory of its own.
func (c config) name() string {
	return fmt.Sprintf("graphene-%dx%d-disorder%g-%g-points%d-iters%d-seed%d", c.nx, c.ny, c.from, c.to, c.points, c.iterations, c.seed)
}
