package recovery

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/launch"
)

// config is what the command line says.
type config struct {
	np, nodes, spare int
	rounds           int
	what             string
	mib              int
}

var whats = []string{"recovery", "messages", "restored", "zone", "nothing"}

// register adds the flags to those of the benchmark, and to those of the program that it starts.
func (c *config) register(f *flag.FlagSet) {
	f.IntVar(&c.np, "np", 2, "start this many ranks; 0: craft run has")
	f.IntVar(&c.nodes, "nodes", 1, "with -np: number of virtual nodes")
	f.IntVar(&c.spare, "spare-nodes", 0, "with -np: virtual nodes for replacements, in addition")
	f.IntVar(&c.rounds, "rounds", 15, "how often each thing is measured")
	f.StringVar(&c.what, "what", "recovery", "what the program does: "+strings.Join(whats, ", "))
	f.IntVar(&c.mib, "mib", 16, "with -what restored: MiB of values of each rank")
}

func parseFlags(args []string) (c config, err error) {
	f := flag.NewFlagSet("recovery", flag.ContinueOnError)
	c.register(f)
	if err := f.Parse(args); err != nil {
		return c, err
	}
	switch {
	case f.NArg() > 0:
		return c, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case c.rounds < 1:
		return c, fmt.Errorf("-rounds %d: it must be at least 1", c.rounds)
	case c.mib < 1:
		return c, fmt.Errorf("-mib %d: it must be at least 1", c.mib)
	case !slices.Contains(whats, c.what):
		return c, fmt.Errorf("-what %q: it is one of %s", c.what, strings.Join(whats, ", "))
	}
	return c, nil
}

// program is a rank, or starts all of them; rank 0 prints the figures as a line of JSON.
func program() {
	code, err := run(os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "recovery:", err)
	}
	os.Exit(code)
}

// run also returns the exit code.
func run(args []string, stdout io.Writer) (code int, err error) {
	c, err := parseFlags(args)
	if err != nil {
		return 2, err
	}
	ctx := context.Background()
	code, started, err := launch.Self(ctx, c.np, func(l *launch.Config) {
		l.Nodes, l.SpareNodes = c.nodes, c.spare
		l.Repeats = 1000 // it is the same failure each time
	})
	if started {
		return code, err
	}
	m := &measurement{config: c, result: &result{bytes: make(map[string]int)}}
	if c.what == "zone" {
		err = m.compareZone(ctx)
	} else {
		err = aft.Run(ctx, m.body, aft.WithLogger(slog.New(slog.DiscardHandler)))
	}
	if err == nil && m.print {
		err = m.result.write(stdout)
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}
