package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/examples/internal/jobs"
)

// config is what the command line says.
type config struct {
	np, nodes, spare int
	rounds           int
	what             string
	json             bool
}

func main() {
	if code, ok := launch.Daemon(); ok {
		os.Exit(code)
	}
	code, err := run(os.Args[1:], os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "recovery:", err)
	}
	os.Exit(code)
}

func parseFlags(args []string, out io.Writer) (config, error) {
	var c config
	f := flag.NewFlagSet("recovery", flag.ContinueOnError)
	f.SetOutput(out)
	f.IntVar(&c.np, "np", 0, "start this many ranks (otherwise craft run does)")
	f.IntVar(&c.nodes, "nodes", 1, "with -np: number of virtual nodes")
	f.IntVar(&c.spare, "spare-nodes", 0, "with -np: virtual nodes for replacements, in addition")
	f.IntVar(&c.rounds, "rounds", 15, "how often each thing is measured")
	f.StringVar(&c.what, "what", "recovery", "recovery; messages (of the first two ranks); zone: what a zone costs without\nfailures; or nothing: start and end")
	f.BoolVar(&c.json, "json", false, "print one line of JSON")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	switch {
	case f.NArg() > 0:
		return c, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case c.rounds < 1:
		return c, fmt.Errorf("-rounds %d: it must be at least 1", c.rounds)
	case !slices.Contains([]string{"recovery", "messages", "zone", "nothing"}, c.what):
		return c, fmt.Errorf("-what %q: it is recovery, messages, zone or nothing", c.what)
	}
	return c, nil
}

// run also returns the exit code.
func run(args []string, stdout, stderr io.Writer) (code int, err error) {
	c, err := parseFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return jobs.ExitDone, nil
	}
	if err != nil {
		return jobs.ExitUsage, err
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
		err = compareZone(ctx, c.rounds, stdout)
	} else {
		err = aft.Run(ctx, m.body, aft.WithLogger(slog.New(slog.DiscardHandler)))
	}
	if err == nil && m.print {
		err = m.result.write(stdout, c.json)
	}
	if err != nil {
		return jobs.ExitFailed, err
	}
	return jobs.ExitDone, nil
}
