package main

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/craft-go/craft/examples/internal/jobs"
)

// config is what the command line says.
type config struct {
	jobs.Loop

	size int // elements along an edge of each rank's box, when the job begins on a cube of ranks
	edge int // elements along an edge of the whole cube; 0: as size says
}

const usage = `Usage: hydro [flags]

Computes an explosion in the corner of a cube of cold gas, on a mesh of hexahedra that
moves with the gas, as LULESH does. It survives the failure of ranks and nodes, and ends
with the bits of a run without failures, on any number of ranks.

A job that begins on 8 ranks, or 27, has a cube of -size elements along each edge on each of
them; on other numbers of ranks it has the elements of the next larger such number. That
size is the job's: it stays the same when ranks are lost and not replaced. A job that is started
again on another number of ranks is told by -edge how many elements there are along each edge
of the whole cube: the result of the first start says it.

  hydro -np 8 -kill 3@50 -recovery SHRINKING    # 24 x 24 x 24 elements, at last on 7 ranks
  hydro -np 8 -size 20                          # the size of the Reinit++ paper

Each step has its checkpoint, so whatever ends the program takes no more than one
away: run the same command again, and it goes on. Exit codes: 0 done, 1 failed, 2 wrong usage,
75 asked to end by SIGTERM and saved (130: by Ctrl-C). The result goes to standard output, all else
to standard error.

Flags:
`

// mostEdge is how many elements there may be along an edge of the cube.
const mostEdge = 2048

func parseFlags(args []string, help io.Writer) (config, error) {
	var c config
	f := flag.NewFlagSet("hydro", flag.ContinueOnError)
	c.Register(f, 100, 1)
	f.IntVar(&c.size, "size", 12, "`elements` along an edge of the box of each rank, when the job begins on 1, 8, 27, 64, ... ranks")
	f.IntVar(&c.edge, "edge", 0, "`elements` along an edge of the whole cube, whatever the number of ranks (default: as -size says)")
	set, err := c.Parse(f, args, usage, help)
	if err != nil {
		return c, err
	}
	if err := c.Check(set, ""); err != nil { // problem knows the name
		return c, err
	}
	switch {
	case set["size"] && set["edge"]:
		return c, errors.New("-size, -edge: one of them says how many elements there are")
	case c.size < 1 || c.size > mostEdge:
		return c, fmt.Errorf("-size %d: it must be 1 to %d", c.size, mostEdge)
	case set["edge"] && (c.edge < 1 || c.edge > mostEdge):
		return c, fmt.Errorf("-edge %d: it must be 1 to %d", c.edge, mostEdge)
	}
	return c, nil
}
