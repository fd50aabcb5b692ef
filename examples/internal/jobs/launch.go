package jobs

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/checkpoint"
)

// most is the largest number of ranks that the examples accept.
const most = 4096

// RegisterRanks adds the flags of any program: how many ranks there are, whether they
// are goroutines or processes, what happens when one fails, and -json.
func (c *Flags) RegisterRanks(f *flag.FlagSet) {
	f.BoolVar(&c.JSON, "json", false, "print the result as one line of JSON")
	f.IntVar(&c.Goroutines, "ranks", 1, "`number` of ranks that share the work, as goroutines of this process")
	f.IntVar(&c.Processes, "np", 0, "`number` of ranks that share the work, as processes that this one starts: they survive\nthe failure of others (craft run does the same for any program, also on other machines)")
	f.IntVar(&c.Nodes, "nodes", 1, "with -np: divide the ranks into `k` virtual nodes, each of which can fail as a whole")
	f.IntVar(&c.Spare, "spare-nodes", 0, "with -np: keep `k` virtual nodes more for replacements")
	f.IntVar(&c.Restarts, "restarts", 0, "with -np: start all ranks again when the job has ended by a failure, at most so many `times`")
	f.Func("recovery", "when a process has failed: SHRINKING `policy`, go on with fewer; NON-SHRINKING, replace it; ABORT, end\n(default $CRAFT_COMM_RECOVERY_POLICY, or else NON-SHRINKING)", func(text string) error {
		return oneOf(&c.recovery, text, comm.Recoveries())
	})
	f.Func("spawn", "REUSE `policy`: replace a process on its node if that is alive; NO-REUSE: on spare nodes if there are any\n(default $CRAFT_COMM_SPAWN_POLICY, or else NO-REUSE)", func(text string) error {
		return oneOf(&c.spawn, text, comm.SpawnPolicies())
	})
}

func oneOf[T ~string](to *T, text string, allowed []T) error {
	if !slices.Contains(allowed, T(text)) {
		return fmt.Errorf("it must be one of %v", allowed)
	}
	*to = T(text)
	return nil
}

func (c *Flags) checkRanks(set map[string]bool) error {
	switch {
	case c.Goroutines < 1 || c.Goroutines > most:
		return fmt.Errorf("-ranks %d: it must be 1 to %d", c.Goroutines, most)
	case set["np"] && (c.Processes < 1 || c.Processes > most):
		return fmt.Errorf("-np %d: it must be 1 to %d", c.Processes, most)
	case c.Goroutines > 1 && c.AreProcesses():
		return errors.New("-ranks: ranks are goroutines or processes, not both")
	case c.Nodes < 1 || c.Nodes > most:
		return fmt.Errorf("-nodes %d: it must be 1 to %d", c.Nodes, most)
	case c.Spare < 0 || c.Spare > most:
		return fmt.Errorf("-spare-nodes %d: it must be 0 to %d", c.Spare, most)
	case c.Restarts < 0:
		return fmt.Errorf("-restarts %d: it must be 0 or more", c.Restarts)
	}
	for _, name := range []string{"nodes", "spare-nodes", "restarts"} {
		if set[name] && c.Processes == 0 {
			return fmt.Errorf("-%s goes with -np; craft run has a flag of the same name", name)
		}
	}
	for _, name := range []string{"recovery", "spawn"} {
		if set[name] && !c.AreProcesses() {
			return fmt.Errorf("-%s needs ranks that are processes: give -np, or start the program with craft run", name)
		}
	}
	return nil
}

// AreProcesses reports whether each rank is a process.
func (c *Flags) AreProcesses() bool { return c.Processes > 0 || launch.IsRank() }

// WrongUsage says what is wrong with the arguments and returns the exit code. That
// somebody has asked for -help is not wrong.
func (c *Flags) WrongUsage(err error, stderr io.Writer) int {
	if errors.Is(err, flag.ErrHelp) {
		return ExitDone
	}
	fmt.Fprintf(stderr, "%s: %v\nRun it with -help for the flags.\n", c.program, err)
	return ExitUsage
}

// Launch starts the ranks that -np asks for, as processes, and waits for their
// end; then started is true, and code what this process should exit with.
func (c *Flags) Launch(ctx context.Context, log *slog.Logger, stderr io.Writer) (code int, started bool) {
	code, started, err := launch.Self(ctx, c.Processes, func(l *launch.Config) {
		l.Nodes, l.SpareNodes, l.NodePath = c.Nodes, c.Spare, c.base()
		l.Policy = comm.Policy{Recovery: c.recovery, Spawn: c.spawn}
		l.Restarts, l.Logger = c.Restarts, log
	})
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", c.program, err)
	}
	return code, started
}

// ZoneOptions are those that the flags ask for.
func (c *Flags) ZoneOptions(log *slog.Logger) []aft.Option {
	options := []aft.Option{aft.WithLogger(log)}
	if c.Goroutines > 1 {
		options = append(options, aft.WithRanks(c.Goroutines))
	}
	if c.recovery != "" {
		options = append(options, aft.WithRecovery(c.recovery))
	}
	if c.spawn != "" {
		options = append(options, aft.WithSpawn(c.spawn))
	}
	return options
}

// Failed says why the job has failed, or what it has left when it was asked to end, unless the
// process of another rank does, and returns the exit code. rank is that of this process in the
// last attempt.
func (c *Flags) Failed(err error, rank comm.Rank, stderr io.Writer) int {
	var own *aft.BodyError
	var end *checkpoint.DeadlineError
	switch {
	case errors.As(err, &end):
		if again := ""; rank == 0 || !launch.IsRank() {
			if c.Fresh && end.Version > 0 {
				again = " (without -fresh)"
			}
			fmt.Fprintf(stderr, "%s: %v%s\n", c.program, end, again)
		}
	case checkpoint.ExitMessage(err) == "": // another rank says it, or the launcher
	case !errors.As(err, &own) || !launch.IsRank() || own.Rank == rank:
		fmt.Fprintf(stderr, "%s: %v\n", c.program, err)
	}
	return checkpoint.ExitCode(err)
}

// Explain adds the ways out that the programs offer to an error of a restart.
func Explain(err error) error {
	switch {
	case errors.Is(err, checkpoint.ErrFingerprint):
		return fmt.Errorf("%w\nGive another directory with -cp-path", err)
	case errors.Is(err, checkpoint.ErrNoUsableVersion):
		return fmt.Errorf("%w\nStart over with -fresh, or in another directory with -cp-path", err)
	}
	return err
}
