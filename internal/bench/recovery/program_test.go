package recovery

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/internal/bench/program"
)

// config is what the command line says.
type config struct {
	np, nodes, spare int
	rounds           int
	what             string
	mib              int
	again
}

// again is for -what again.
type again struct {
	spareRanks    int
	restarts      int
	node          bool
	before, pause time.Duration
	note          string
	rival         string
}

var whats = []string{"recovery", "messages", "restored", "agreeing", "again", "switches", "zone", "nothing", "end", "byte", "sleep"} // nothing: in a zone; end: nothing at all

// register adds the flags to those of the benchmark, and to those of the program that it starts.
func (c *config) register(f *flag.FlagSet) {
	f.IntVar(&c.np, "np", 2, "start this many ranks; 0: craft run has")
	f.IntVar(&c.nodes, "nodes", 1, "with -np: number of virtual nodes")
	f.IntVar(&c.spare, "spare-nodes", 0, "with -np: virtual nodes for replacements, in addition")
	f.IntVar(&c.rounds, "rounds", 15, "how often each thing is measured")
	f.StringVar(&c.what, "what", "recovery", "what the program does: "+strings.Join(whats, ", "))
	f.IntVar(&c.spareRanks, "spare-ranks", 0, "with -np: processes that wait to replace others")
	f.IntVar(&c.restarts, "restarts", 0, "with -np: deploy the job again so often")
	f.BoolVar(&c.node, "kill-node", false, "with -what again: kill the daemon of the last rank's node")
	f.DurationVar(&c.before, "before", 0, "sleep in each process before its zone")
	f.DurationVar(&c.pause, "pause", 0, "with -what again: time before each failure")
	f.StringVar(&c.note, "note", "killed", "with -what again: file for the time of the kill")
	f.StringVar(&c.rival, "rival", "", "with -test.bench Rivals: a command that is measured beside them, from its start to its end")
	f.IntVar(&c.mib, "mib", 16, "with -what restored: MiB of values of each rank")
}

func parseFlags(args []string) (c config, err error) {
	f := flag.NewFlagSet("recovery", flag.ContinueOnError)
	c.register(f)
	if err := program.Parse(f, args); err != nil {
		return c, err
	}
	switch {
	case c.rounds < 1:
		return c, fmt.Errorf("-rounds %d: it must be at least 1", c.rounds)
	case c.mib < 1:
		return c, fmt.Errorf("-mib %d: it must be at least 1", c.mib)
	case !slices.Contains(whats, c.what):
		return c, fmt.Errorf("-what %q: it is one of %s", c.what, strings.Join(whats, ", "))
	}
	return c, nil
}

func run(args []string, stdout io.Writer) (code int, err error) {
	c, err := parseFlags(args)
	if err != nil {
		return 2, err
	}
	switch c.what {
	case "end":
		return 0, nil
	case "byte":
		_, err := stdout.Write([]byte{'\n'})
		return 0, err
	case "sleep":
		time.Sleep(time.Hour)
	}
	m := &measurement{config: c, result: &result{bytes: make(map[string]int)}}
	return program.Job{
		Ranks: c.np,
		Launch: func(l *launch.Config) {
			l.Nodes, l.SpareNodes, l.SpareRanks, l.Restarts = c.nodes, c.spare, c.spareRanks, c.restarts
			l.Repeats = 1000 // it is the same failure each time
		},
		Body: func(ctx context.Context) error {
			time.Sleep(c.before)
			if c.what == "zone" {
				return m.compareZone(ctx)
			}
			return aft.Run(ctx, m.body, aft.WithLogger(slog.New(slog.DiscardHandler)))
		},
		Result: func() any {
			if !m.print {
				return nil
			}
			m.result.summarize()
			return m.result
		},
	}.Run(stdout)
}
