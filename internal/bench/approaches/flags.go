package main

import (
	"flag"
	"fmt"
	"io"
	"strings"
	"time"
)

// config is what the command line says.
type config struct {
	measurement

	base                string // in which the directory of all jobs is made
	csv, json, svg, png string // files; "": none
}

// Of a trial.
const (
	quickRuns, quickRanks, quickNodes = 2, 4, 2
)

func parse(args []string, log io.Writer) (c config, err error) {
	f := flag.NewFlagSet("approaches", flag.ContinueOnError)
	f.SetOutput(log)
	f.IntVar(&c.ranks, "np", 8, "`ranks`")
	f.IntVar(&c.nodes, "nodes", 4, "virtual `nodes` that they begin on; one more is spare")
	f.IntVar(&c.runs, "runs", 10, "how `often` each job runs")
	f.Uint64Var(&c.seed, "seed", 1, "`seed` of who fails when")
	f.DurationVar(&c.quiet, "quiet", 500*time.Millisecond, "how long to wait until others leave the machine alone, before each turn of all approaches")
	f.DurationVar(&c.most, "timeout", 2*time.Minute, "how long one job may take")
	f.StringVar(&c.base, "dir", "", "`directory` for checkpoints, which are removed (default: that for temporary files)")
	f.StringVar(&c.bin, "bin", "", "`directory` with craft and the programs (default: they are built)")
	f.StringVar(&c.csv, "csv", "", "write the tables into this `file` as well")
	f.StringVar(&c.json, "json", "", "write the tables and each job into this `file`")
	f.StringVar(&c.svg, "svg", "", "draw stacked bars into this `file`")
	f.StringVar(&c.png, "png", "", "the same as pixels")
	quick := f.Bool("quick", false, fmt.Sprintf("a trial: small problems, -np %d -nodes %d -runs %d", quickRanks, quickNodes, quickRuns))
	names := map[string]*string{
		"programs":   f.String("programs", listOf(known, program.named), "which `programs`, with commas"),
		"approaches": f.String("approaches", listOf(approaches, approach.named), "which `approaches`"),
		"failures":   f.String("failures", listOf(failures, text), "which `failures`"),
		"pairings":   f.String("pairings", listOf(pairings, text), "which pairings of approach and checkpoint: that of the `paper`, or files for all"),
	}
	sizes := make(map[string]*string)
	for _, p := range known {
		sizes[p.name] = f.String(p.name, p.full, "`arguments` of "+p.name)
	}
	if err := f.Parse(args); err != nil {
		return c, err
	}
	if f.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %q: all settings are flags", f.Arg(0))
	}
	set := make(map[string]bool)
	f.Visit(func(one *flag.Flag) { set[one.Name] = true })
	if *quick {
		c.shrink(set, sizes)
	}
	if err := c.choose(names); err != nil {
		return c, err
	}
	for i, p := range c.programs {
		c.programs[i].args = strings.Fields(*sizes[p.name])
	}
	return c, c.check()
}

// shrink makes a trial of what was not said otherwise.
func (c *config) shrink(set map[string]bool, sizes map[string]*string) {
	for name, value := range map[string]struct {
		of *int
		to int
	}{"np": {&c.ranks, quickRanks}, "nodes": {&c.nodes, quickNodes}, "runs": {&c.runs, quickRuns}} {
		if !set[name] {
			*value.of = value.to
		}
	}
	if !set["quiet"] {
		c.quiet = time.Millisecond
	}
	for _, p := range known {
		if !set[p.name] {
			*sizes[p.name] = p.quick
		}
	}
}

// choose takes what was named.
func (c *config) choose(names map[string]*string) (err error) {
	if c.programs, err = choose("programs", *names["programs"], known, program.named); err != nil {
		return err
	}
	if c.approaches, err = choose("approaches", *names["approaches"], approaches, approach.named); err != nil {
		return err
	}
	if c.failures, err = choose("failures", *names["failures"], failures, text); err != nil {
		return err
	}
	c.pairings, err = choose("pairings", *names["pairings"], pairings, text)
	return err
}

func (c config) check() error {
	switch {
	case c.ranks < 2:
		return fmt.Errorf("-np %d: it must be at least 2, for one to fail", c.ranks)
	case c.nodes < 2 || c.nodes > c.ranks:
		return fmt.Errorf("-nodes %d: it must be 2 to %d, the ranks, for one to fail and to be a node", c.nodes, c.ranks)
	case c.runs < 1:
		return fmt.Errorf("-runs %d: it must be at least 1", c.runs)
	case c.most <= 0:
		return fmt.Errorf("-timeout %v: it must be more than 0", c.most)
	}
	return nil
}

func (p program) named() string  { return p.name }
func (a approach) named() string { return a.name }

func text[T ~string](v T) string { return string(v) }

func listOf[T any](all []T, name func(T) string) string {
	var names []string
	for _, one := range all {
		names = append(names, name(one))
	}
	return strings.Join(names, ",")
}
