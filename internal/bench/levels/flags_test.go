package levels

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/internal/bench/program"
	"github.com/craft-go/craft/internal/env"
)

// config is what the command line says.
type config struct {
	np, nodes      int
	size           int64
	uneven         float64 // 0 to 1
	rounds, warm   int
	what           string
	levels         []string
	deltas         []float64 // percent
	async          checkpoint.AsyncMode
	path, nodePath string
	sync           checkpoint.Sync
	sets           sets
	profile        string
}

// sets say who protects whom by parity.
type sets struct {
	Size   int `envconfig:"SET_SIZE" default:"4"`
	Parity int `envconfig:"RS_PARITY" default:"2"`
}

// levels that can be measured.
var known = []string{"mem", "local", "partner", "xor", "rs", "pfs"}

// values are those of flags that have to be parsed themselves.
type values struct{ size, uneven, levels, deltas string }

// register adds the flags to those of the benchmark, and to those of the program that it starts.
func (c *config) register(f *flag.FlagSet) *values {
	v := new(values)
	f.IntVar(&c.np, "np", 4, "start this many ranks; 0: craft run has")
	f.IntVar(&c.nodes, "nodes", 4, "with -np: number of virtual nodes")
	f.IntVar(&c.rounds, "rounds", 15, "how often each thing is measured")
	f.IntVar(&c.warm, "warm", 3, "how many versions are written before, without counting")
	f.StringVar(&c.what, "what", "all", "writes, restarts or all")
	f.StringVar(&c.path, "path", "", "`directory` that stands for the parallel file system")
	f.StringVar(&c.nodePath, "node-path", "", "`directory` in which each virtual node has one of its own")
	f.StringVar((*string)(&c.sync), "sync", "full", "as CRAFT_SYNC: full or none")
	f.TextVar(&c.async, "async", checkpoint.AsyncOff, "off, copy or zero-copy")
	f.StringVar(&c.profile, "rank-profile", "", "write a processor profile of each rank to files that begin with this")
	f.StringVar(&v.size, "size", "64MiB", "values of each rank")
	f.StringVar(&v.uneven, "uneven", "0%", "the ranks have up to this much less or more than -size")
	f.StringVar(&v.levels, "levels", strings.Join(known, ","), "what is measured")
	f.StringVar(&v.deltas, "delta", "", "measure versions of which so much has changed, such as 1%,10%")
	return v
}

func parseFlags(args []string) (c config, err error) {
	f := flag.NewFlagSet("levels", flag.ContinueOnError)
	v := c.register(f)
	if err := program.Parse(f, args); err != nil {
		return c, err
	}
	return c, c.complete(v)
}

func (c *config) complete(v *values) error {
	if err := env.Load(&c.sets); err != nil {
		return err
	}
	var n env.Size
	if err := n.Decode(v.size); err != nil {
		return fmt.Errorf("-size: %w", err)
	}
	c.size = int64(n)
	percents, err := parsePercents(v.uneven)
	if err != nil || len(percents) > 1 {
		return fmt.Errorf("-uneven %q: it must be a percentage up to 100%%", v.uneven)
	}
	if len(percents) == 1 {
		c.uneven = percents[0] / 100
	}
	if c.deltas, err = parsePercents(v.deltas); err != nil {
		return fmt.Errorf("-delta: %w", err)
	}
	c.levels = strings.Split(v.levels, ",")
	for _, l := range c.levels {
		if !slices.Contains(known, l) {
			return fmt.Errorf("-levels: %q: it must be among %s", l, strings.Join(known, ", "))
		}
	}
	switch {
	case c.path == "" || c.nodePath == "":
		return errors.New("-path and -node-path are needed: directories on what is to be measured")
	case !slices.Contains([]string{"all", "writes", "restarts"}, c.what):
		return fmt.Errorf("-what %q: it must be writes, restarts or all", c.what)
	case c.rounds < 1 || c.warm < 0:
		return fmt.Errorf("-rounds %d, -warm %d: at least 1 and 0", c.rounds, c.warm)
	case c.size < chunk:
		return fmt.Errorf("-size %s: it must be at least %s", v.size, env.Size(chunk))
	}
	return nil
}

// parsePercents reads such as "1%,10%".
func parsePercents(text string) ([]float64, error) {
	var out []float64
	if text == "" {
		return nil, nil
	}
	for field := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(field), "%"), 64)
		if err != nil || !(v >= 0 && v <= 100) {
			return nil, fmt.Errorf("%q: it must be a percentage from 0%% to 100%%", field)
		}
		out = append(out, v)
	}
	return out, nil
}
