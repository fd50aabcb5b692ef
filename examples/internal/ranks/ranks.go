// Package ranks is the flags of the examples that say how many ranks there are,
// whether they are goroutines or processes, and what happens when one fails.
package ranks

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"strings"
	"syscall"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/launch"
)

// Most is the largest number of ranks that the examples accept.
const Most = 4096

// Flags are the values of the flags. A rank that was started by `craft run` or by
// -np is a process too, whatever they say.
type Flags struct {
	Goroutines int // -ranks
	Processes  int // -np; 0: this process is not a root
	Nodes      int // -nodes
	Spare      int // -spare-nodes
	// NodePath is the base of the nodes' own directories: see launch.Config.
	NodePath string

	recovery comm.Recovery    // "": the environment decides
	spawn    comm.SpawnPolicy // "": the environment decides
}

// Register adds the flags to f.
func (r *Flags) Register(f *flag.FlagSet) {
	f.IntVar(&r.Goroutines, "ranks", 1, "`number` of ranks that share the matrix, as goroutines of this process")
	f.IntVar(&r.Processes, "np", 0, "`number` of ranks that share the matrix, as processes that this one starts: they survive\nthe failure of others (craft run does the same for any program, also on other machines)")
	f.IntVar(&r.Nodes, "nodes", 1, "with -np: divide the ranks into `k` virtual nodes, each of which can fail as a whole")
	f.IntVar(&r.Spare, "spare-nodes", 0, "with -np: keep `k` virtual nodes more for replacements")
	f.Func("recovery", "when a process has failed: SHRINKING `policy`, go on with fewer; NON-SHRINKING, replace it\n(default $CRAFT_COMM_RECOVERY_POLICY, or else NON-SHRINKING)", func(text string) error {
		return oneOf(&r.recovery, text, comm.Shrinking, comm.NonShrinking)
	})
	f.Func("spawn", "REUSE `policy`: replace a process on its node if that is alive; NO-REUSE: on spare nodes if there are any\n(default $CRAFT_COMM_SPAWN_POLICY, or else NO-REUSE)", func(text string) error {
		return oneOf(&r.spawn, text, comm.Reuse, comm.NoReuse)
	})
}

func oneOf[T ~string](to *T, text string, allowed ...T) error {
	names := make([]string, len(allowed))
	for i, a := range allowed {
		if T(text) == a {
			*to = a
			return nil
		}
		names[i] = string(a)
	}
	return errors.New("it must be " + strings.Join(names, " or "))
}

// Check looks for contradictions; set are the names of the flags that were given.
func (r *Flags) Check(set map[string]bool) error {
	switch {
	case r.Goroutines < 1 || r.Goroutines > Most:
		return fmt.Errorf("-ranks %d: it must be 1 to %d", r.Goroutines, Most)
	case set["np"] && (r.Processes < 1 || r.Processes > Most):
		return fmt.Errorf("-np %d: it must be 1 to %d", r.Processes, Most)
	case r.Goroutines > 1 && r.AreProcesses():
		return errors.New("-ranks: ranks are goroutines or processes, not both")
	case r.Nodes < 1 || r.Nodes > Most:
		return fmt.Errorf("-nodes %d: it must be 1 to %d", r.Nodes, Most)
	case r.Spare < 0 || r.Spare > Most:
		return fmt.Errorf("-spare-nodes %d: it must be 0 to %d", r.Spare, Most)
	}
	for _, name := range []string{"nodes", "spare-nodes"} {
		if set[name] && r.Processes == 0 {
			return fmt.Errorf("-%s goes with -np; craft run has a flag of the same name", name)
		}
	}
	for _, name := range []string{"recovery", "spawn"} {
		if set[name] && !r.AreProcesses() {
			return fmt.Errorf("-%s needs ranks that are processes: give -np, or start the program with craft run", name)
		}
	}
	return nil
}

// AreProcesses tells whether each rank is a process.
func (r *Flags) AreProcesses() bool { return r.Processes > 0 || launch.IsRank() }

// Launch starts the ranks that -np asks for, as processes, and waits for their
// end; then started is true, and code what this process should exit with.
func (r *Flags) Launch(ctx context.Context, log *slog.Logger) (code int, started bool, err error) {
	if r.Processes == 0 {
		return 0, false, nil
	}
	code, started, err = launch.Self(ctx, r.Processes, func(c *launch.Config) {
		c.Nodes, c.SpareNodes, c.NodePath = r.Nodes, r.Spare, r.NodePath
		c.Policy = comm.Policy{Recovery: r.recovery, Spawn: r.spawn}
		c.Logger = log
	})
	if errors.Is(err, launch.ErrJob) && (code == 128+int(syscall.SIGINT) || code == 128+int(syscall.SIGTERM)) {
		err = nil // it was told to end, and rank 0 has said how it did
	}
	return code, started, err
}

// Options are those for the zone.
func (r *Flags) Options(log *slog.Logger) []aft.Option {
	options := []aft.Option{aft.WithLogger(log)}
	if r.Goroutines > 1 {
		options = append(options, aft.WithRanks(r.Goroutines))
	}
	if r.recovery != "" {
		options = append(options, aft.WithRecovery(r.recovery))
	}
	if r.spawn != "" {
		options = append(options, aft.WithSpawn(r.spawn))
	}
	return options
}
