package replica

import (
	"errors"
	"flag"
	"fmt"
	"slices"

	"github.com/craft-go/craft/internal/bench/program"
	"github.com/craft-go/craft/internal/env"
)

// config is what the command line says to the program.
type config struct {
	np          int
	size        int // bytes of each rank
	block       int
	rangeBytes  int
	copies      int
	consecutive bool
	messages    bool
	rounds      int
	what        string
	path        string
	profile     string
}

// sizes are values of flags that have to be parsed themselves.
type sizes struct{ size, block, rangeBytes string }

// register adds the flags to those of the benchmark, and to those of the program that it starts.
func (c *config) register(f *flag.FlagSet) *sizes {
	v := new(sizes)
	f.IntVar(&c.np, "np", 8, "start this many ranks, each on a virtual node; 0: craft run has")
	f.StringVar(&v.size, "size", "16MiB", "data of each rank")
	f.StringVar(&v.block, "block", "64", "bytes of a block")
	f.StringVar(&v.rangeBytes, "range", "256KiB", "bytes that stay together")
	f.IntVar(&c.copies, "copies", 2, "copies of each block")
	f.BoolVar(&c.consecutive, "consecutive", false, "without permutation of the ranges")
	f.BoolVar(&c.messages, "messages", false, "ranks do not write to each other's memory")
	f.IntVar(&c.rounds, "rounds", 11, "how often each thing is measured")
	f.StringVar(&c.what, "what", "all", "first, submits, loads (no failures) or all")
	f.StringVar(&c.path, "path", "", "`directory` for files that are measured, too")
	f.StringVar(&c.profile, "rank-profile", "", "write a processor profile of each rank to files that begin with this")
	return v
}

func parseFlags(args []string) (c config, err error) {
	f := flag.NewFlagSet("replica", flag.ContinueOnError)
	v := c.register(f)
	if err := program.Parse(f, args); err != nil {
		return c, err
	}
	return c, c.complete(v)
}

func (c *config) complete(v *sizes) error {
	for _, s := range []struct {
		flag, text string
		value      *int
	}{{"size", v.size, &c.size}, {"block", v.block, &c.block}, {"range", v.rangeBytes, &c.rangeBytes}} {
		var n env.Size
		if err := n.Decode(s.text); err != nil {
			return fmt.Errorf("-%s: %w", s.flag, err)
		}
		*s.value = int(n)
	}
	switch {
	case c.block < 8 || c.block%8 != 0:
		return fmt.Errorf("-block %d: it must be a multiple of 8", c.block)
	case c.size < c.block || c.size%c.block != 0:
		return fmt.Errorf("-size %d: it must be a multiple of -block, %d", c.size, c.block)
	case c.rangeBytes < c.block:
		return fmt.Errorf("-range %d: it must be at least -block, %d", c.rangeBytes, c.block)
	case c.rounds < 1 || c.copies < 1:
		return errors.New("-rounds and -copies must be at least 1")
	case !slices.Contains([]string{"first", "submits", "loads", "all"}, c.what):
		return fmt.Errorf("-what %q: it must be first, submits, loads or all", c.what)
	}
	return nil
}
