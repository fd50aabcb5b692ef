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
	"slices"
	"strings"

	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/examples/kmeans/dataset"
	"github.com/craft-go/craft/examples/kmeans/lloyd"
)

// config is what the command line says.
type config struct {
	jobs.Flags

	generated dataset.Generated
	file      string // in place of generated points

	centres    int
	iterations int
	copies     int
	plot       string // file of the picture

	kills    jobs.Kills
	failures float64 // share of the ranks that is to fail
}

const usage = `Usage: kmeans [flags]

Divides points into clusters (k-means, Lloyd's algorithm) on several ranks. The points
stay in memory, with copies of each on several ranks: when some of these are killed, the
others share the points of the dead (-recovery SHRINKING), or replacements get them, and
it ends with the clustering of a run without failures, bit for bit. No version is written,
unless it is asked to end (Ctrl-C, SIGTERM): then the centres are saved, and the same
command goes on with them, after it has made or read the points again.

Without flags it computes for about four seconds. The runs of the paper (ReStore, section
VI-C) have 65,536 points for each rank and 500 iterations, and 1 % of the ranks fail:

  kmeans -np 8 -points 524288 -iters 500 -failures 0.01 -recovery SHRINKING

Exit codes: 0 done, 1 failed, 2 wrong usage, 75 asked to end and saved (130: by Ctrl-C). The result goes to standard output, all else
to standard error.

Flags:
`

func parseFlags(args []string, help io.Writer) (config, error) {
	var c config
	f := flag.NewFlagSet("kmeans", flag.ContinueOnError)
	c.RegisterRanks(f)
	c.kills.Register(f)
	c.kills.RegisterDieAt(f, "")
	f.Int64Var(&c.generated.Points, "points", 65536, "`number` of points of all ranks together")
	f.IntVar(&c.generated.Dim, "dim", 32, "`number` of coordinates of each point")
	f.Uint64Var(&c.generated.Seed, "seed", 1, "`seed` of the points, of the choice of the first centres, and of -failures")
	f.StringVar(&c.file, "in", "", "read the points from a `file` in place of making them: .npy with an array of two axes (points, coordinates)\nof float32 or float64, or .csv with a point in each line. All ranks read it")
	f.IntVar(&c.centres, "centres", 20, "`number` of clusters")
	f.IntVar(&c.iterations, "iters", 100, "`number` of iterations")
	f.IntVar(&c.copies, "copies", 4, "how many ranks have each block of points (at most all ranks), on different nodes if there are enough.\nPoints all copies of which are lost are made or read again")
	f.StringVar(&c.CPPath, "cp-path", "", "`directory` of the centres, if it is asked to end (default $CRAFT_CP_PATH, or else a directory\nnamed after the problem in ./kmeans-checkpoints)")
	f.BoolVar(&c.Fresh, "fresh", false, "start over, also if there are centres of a run that was asked to end")
	f.StringVar(&c.plot, "plot", "", "draw the clusters, in the plane of the first two coordinates, into a `file`: .svg or .png")
	f.Float64Var(&c.failures, "failures", 0, "to try it out: about this `share` of the ranks is killed in the course of all iterations, at random")
	set, err := c.Parse(f, args, usage, help)
	if err != nil {
		return c, err
	}
	if err := c.Check(set); err != nil {
		return c, err
	}
	if err := c.kills.Check(&c.Flags); err != nil {
		return c, err
	}
	if c.file != "" && (set["points"] || set["dim"]) {
		return c, errors.New("-in reads the points from a file: -points and -dim cannot go with it")
	}
	c.generated.Places = c.centres
	c.CPPath = cmp.Or(c.CPPath, os.Getenv("CRAFT_CP_PATH"), filepath.Join("kmeans-checkpoints", c.name()))
	c.Async = checkpoint.AsyncOff
	return c, c.validate()
}

// name of the problem: each has a directory of its own.
func (c config) name() string {
	points := fmt.Sprintf("points%dx%d", c.generated.Points, c.generated.Dim)
	if c.file != "" {
		points = filepath.Base(c.file)
	}
	return fmt.Sprintf("%s-centres%d-seed%d", points, c.centres, c.generated.Seed)
}

// plots are the formats of -plot.
var plots = []string{".svg", ".png"}

// mostCoordinates are those of all points together.
const mostCoordinates = 1 << 40

func (c config) validate() error {
	switch {
	case c.generated.Points < 1:
		return fmt.Errorf("-points %d: it must be at least 1", c.generated.Points)
	case c.generated.Dim < 1:
		return fmt.Errorf("-dim %d: it must be at least 1", c.generated.Dim)
	case int64(c.generated.Dim) > math.MaxInt32/(8*lloyd.BlockPoints):
		return fmt.Errorf("-dim %d: allowed are up to %d", c.generated.Dim, math.MaxInt32/(8*lloyd.BlockPoints))
	case c.generated.Points > mostCoordinates/int64(c.generated.Dim):
		return fmt.Errorf("-points %d: with %d coordinates each allowed are up to %d", c.generated.Points, c.generated.Dim, mostCoordinates/int64(c.generated.Dim))
	case c.file == "" && int64(c.centres) > c.generated.Points:
		return fmt.Errorf("-centres %d: there are %d points", c.centres, c.generated.Points)
	case c.centres < 1:
		return fmt.Errorf("-centres %d: it must be at least 1", c.centres)
	case c.iterations < 1:
		return fmt.Errorf("-iters %d: it must be at least 1", c.iterations)
	case c.copies < 1:
		return fmt.Errorf("-copies %d: it must be at least 1", c.copies)
	case c.plot != "" && !slices.Contains(plots, strings.ToLower(filepath.Ext(c.plot))):
		return fmt.Errorf("-plot %s: the name must end in one of %v", c.plot, plots)
	case !(c.failures >= 0 && c.failures < 1):
		return fmt.Errorf("-failures %v: it must be at least 0 and less than 1", c.failures)
	case c.failures > 0 && !c.AreProcesses():
		return errors.New("-failures needs ranks that are processes: give -np, or start the program with craft run")
	}
	return nil
}
