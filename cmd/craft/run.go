package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/internal/env"
)

// runFlags are the flags of craft run: what they say of the job at once, and what has to be
// looked at as it was given.
type runFlags struct {
	launch.Config

	hosts, hostfile, agent, recovery, spawn string
	endAfter                                time.Duration
	verbose                                 bool
}

func (p *program) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] [--] PROGRAM [ARGS]",
		Short: "Run a program as a job of ranks that survives failures",
		Long: `Run a program as a job of ranks that survives failures.

The ranks run on virtual nodes of this machine (--nodes), on the hosts of --hosts
or --hostfile, or, where neither is given, on those that Slurm or PBS has given to
this job. A node is what fails as a whole.

Output is forwarded whole lines at a time. SIGINT, SIGTERM, SIGHUP, SIGUSR1 and
SIGUSR2 go to all ranks. If the program takes them (checkpoint.OnSignal) they ask the job
to save and end, or to save, at one call on all ranks; SIGTERM again is the same
request, and a second Ctrl-C ends the job at once. Of other programs the third SIGINT or
SIGTERM kills the job.
When nobody reads the output any more the ranks get SIGTERM.
Nothing is left behind when the job ends, or when this command is killed.

A job that has ended by a failure is deployed again with --restarts, and goes on from its
newest checkpoint; not when it was asked to end, or has ended with an error of its own.

The job is asked to end before its deadline, too: the limit of Slurm or PBS, CRAFT_DEADLINE, or
what CRAFT_NOTICE tells of a node. --end-after rehearses that.

Exit codes: 0 when all ranks ended with 0, recoveries included; else the largest
code of a rank (128+n: killed by signal n), where these count less than others: of programs
that end with checkpoint.ExitCode 75: start it again, it goes on (CRAFT_REQUEUE_CODE); 76: halted;
130: interrupted. So count ranks that are lost when the job was asked to end. 1 when the job was given up, or
standard output could not be written; 141 when nobody reads it any more; 2 wrong
usage. With the policy ABORT the code is that of the rank that has failed.`,
		Example: `  craft run -n 8 --nodes 4 ./lanczos
  craft run -n 8 --nodes 4 --spare-nodes 1 --spawn NO-REUSE -- ./lanczos -json
  craft run -n 4 --hosts a,b:2,c ./program
  craft run -n 8 --end-after 90s --grace 10s -- ./program
  craft run -n 2 --hosts x,y --launch-agent "ip netns exec {host}" ./program`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &usageError{fmt.Errorf("which program? usage: %s", cmd.UseLine())}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.complete(cmd.Flags().Changed); err != nil {
				return &usageError{err}
			}
			f.Program, f.Args = args[0], args[1:]
			return p.runJob(cmd.Context(), f.Config, f.verbose)
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if text := err.Error(); strings.HasPrefix(text, `invalid argument "p" for "-n`) || text == "unknown flag: --np" { // as with mpirun
			err = errors.New("-np: the number of ranks is -n N here (-np is for programs that start themselves)")
		}
		return &usageError{err}
	})
	f.register(cmd)
	return cmd
}

func (f *runFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SetInterspersed(false) // what follows the program belongs to it
	flags.IntVarP(&f.Ranks, "ranks", "n", 0, "number of ranks (default: all slots, where their number is known)")
	flags.IntVar(&f.Nodes, "nodes", 0, "virtual nodes on this machine (default 1)")
	flags.IntVar(&f.Slots, "slots", 0, "ranks that a virtual node may have (default: any number)")
	flags.StringVar(&f.hosts, "hosts", "", "hosts such as a,b:2,c; the number limits the ranks there")
	flags.StringVar(&f.hostfile, "hostfile", "", "file with a host in each line: a, a:2, or \"a slots=2\"")
	flags.StringVar(&f.agent, "launch-agent", "", "command that runs a command line on a host; {host} stands for it, else it is appended (default \""+strings.Join(launch.DefaultAgent, " ")+"\")")
	flags.IntVar(&f.SpareNodes, "spare-nodes", 0, "nodes that are kept for replacements: so many virtual ones more, or the last of the hosts")
	flags.IntVar(&f.SpareRanks, "spare-ranks", 0, "processes that are started with the job and wait in aft.Run: one takes the place of a lost rank at once")
	flags.StringVar(&f.recovery, "recovery", "", oneOf(comm.Recoveries())+": sets CRAFT_COMM_RECOVERY_POLICY for the ranks")
	flags.StringVar(&f.spawn, "spawn", "", "REUSE or NO-REUSE: sets CRAFT_COMM_SPAWN_POLICY for the ranks")
	flags.DurationVar(&f.Timing.Period, "heartbeat", 0, "time between two signs of life (default: a tenth of the lease)")
	flags.DurationVar(&f.Timing.Lease, "lease", launch.DefaultLease, "silence after which a process or a node is taken for dead and killed")
	flags.DurationVar(&f.Timing.Repair, "repair-timeout", launch.DefaultRepair, "how long a repair waits for ranks that are alive but do not come, then they are killed; they are named when half of it is over; 0: for ever (CRAFT_REPAIR_TIMEOUT)")
	flags.IntVar(&f.Repeats, "max-repeats", 0, "end the job when the same failure of a rank happens so often without progress, or 3N+1 of any kind; three times as often in a program that reports no steps (default 3)")
	flags.BoolVar(&f.FallBack, "fall-back", false, "when the job has died of its own again and again without getting on (--max-repeats), deploy it once more and go back one version; nothing is deleted")
	flags.IntVar(&f.Restarts, "restarts", 0, "deploy the job again as a whole, so many times, when it has ended by a failure: with --recovery ABORT by any, else by one that could not be repaired; --max-repeats failures in a row at the same place end it earlier")
	flags.DurationVar(&f.RestartDelay, "restart-delay", 0, "time between two deployments")
	flags.DurationVar(&f.Grace, "grace", 0, "how long after a request to end, such as SIGTERM, everything has to be over (default: CRAFT_GRACE, else 25s); sets CRAFT_GRACE for the ranks")
	flags.DurationVar(&f.endAfter, "end-after", 0, "rehearse the end: ask the job to end after this time, kill what is left when the grace is over, as a batch system does, and tell what has happened")
	flags.BoolVar(&f.TagOutput, "tag-output", false, "put the rank before each line: [0] ...")
	flags.StringVar(&f.NodePath, "node-path", "", "base of the nodes' own storage (default: CRAFT_NODE_PATH; else with CRAFT_LEVELS "+env.DefaultNodePath()+", else temporary directories)")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "tell what happens to the job")
}

// complete makes the job, without its program, out of the flags.
func (f *runFlags) complete(given func(string) bool) (err error) {
	if strings.ContainsAny(f.agent, `"'`) {
		return fmt.Errorf("--launch-agent %s: its words are separated by blanks, and quotes have no meaning; put such a command into a script", f.agent)
	}
	f.Agent = strings.Fields(f.agent)
	f.Policy = comm.Policy{Recovery: comm.Recovery(strings.ToUpper(f.recovery)), Spawn: comm.SpawnPolicy(strings.ToUpper(f.spawn))}
	if err := f.check(given); err != nil {
		return err
	}
	switch {
	case given("end-after"):
		f.Rehearsal = &launch.Rehearsal{After: f.endAfter}
	}
	switch {
	case !given("repair-timeout"):
		f.Timing.Repair = 0 // as the environment says
	case f.Timing.Repair == 0:
		f.Timing.Repair = -1 // no limit
	}
	if f.Hosts, err = f.hostList(given); err != nil {
		return err
	}
	if !given("ranks") {
		if f.Ranks = f.allSlots(); f.Ranks == 0 {
			return errors.New("how many ranks? -n N")
		}
	}
	return nil
}

func (f *runFlags) check(given func(string) bool) error {
	switch t := f.Timing; {
	case f.recovery != "" && !slices.Contains(comm.Recoveries(), f.Policy.Recovery):
		return fmt.Errorf("--recovery %q: allowed are %s", f.recovery, oneOf(comm.Recoveries()))
	case f.spawn != "" && !slices.Contains(comm.SpawnPolicies(), f.Policy.Spawn):
		return fmt.Errorf("--spawn %q: allowed are %s", f.spawn, oneOf(comm.SpawnPolicies()))
	case given("nodes") && f.Nodes < 1:
		return fmt.Errorf("--nodes %d: at least 1 is needed", f.Nodes)
	case given("slots") && f.Slots < 1:
		return fmt.Errorf("--slots %d: at least 1 is needed", f.Slots)
	case given("max-repeats") && f.Repeats < 1:
		return fmt.Errorf("--max-repeats %d: at least 1 is needed", f.Repeats)
	case f.SpareNodes < 0:
		return fmt.Errorf("--spare-nodes %d: it is a number of nodes, 0 or more", f.SpareNodes)
	case f.SpareRanks < 0:
		return fmt.Errorf("--spare-ranks %d: it is a number of processes, 0 or more", f.SpareRanks)
	case f.Restarts < 0:
		return fmt.Errorf("--restarts %d: it is a number of times, 0 or more", f.Restarts)
	case given("grace") && f.Grace <= 0:
		return fmt.Errorf("--grace %v: it must be positive", f.Grace)
	case given("end-after") && f.endAfter <= 0:
		return fmt.Errorf("--end-after %v: it must be positive", f.endAfter)
	case f.RestartDelay < 0:
		return fmt.Errorf("--restart-delay %v: it must not be negative", f.RestartDelay)
	case given("restart-delay") && f.Restarts == 0:
		return fmt.Errorf("--restart-delay %v: it needs --restarts", f.RestartDelay)
	case given("heartbeat") && t.Period <= 0:
		return fmt.Errorf("--heartbeat %v: it must be positive", t.Period)
	case given("lease") && t.Lease <= 0:
		return fmt.Errorf("--lease %v: it must be positive", t.Lease)
	case t.Repair < 0:
		return fmt.Errorf("--repair-timeout %v: it must not be negative; 0 means no limit", t.Repair)
	}
	return nil
}

// hostList is where the job runs; nil: on this machine.
func (f *runFlags) hostList(given func(string) bool) ([]launch.Host, error) {
	switch {
	case given("hosts") && given("hostfile"):
		return nil, errors.New("--hosts and --hostfile exclude each other")
	case given("hosts"):
		hosts, err := launch.ParseHosts(f.hosts)
		if err != nil {
			return nil, fmt.Errorf("--hosts: %w", err)
		}
		return hosts, nil
	case given("hostfile"):
		file, err := os.Open(f.hostfile)
		if err != nil {
			return nil, fmt.Errorf("--hostfile: %w", err)
		}
		defer func() { _ = file.Close() }() // it was only read
		hosts, err := launch.ReadHostfile(file)
		if err != nil {
			return nil, fmt.Errorf("--hostfile %s: %w", f.hostfile, err)
		}
		return hosts, nil
	case given("nodes"):
		return nil, nil
	}
	return launch.Allocation()
}

// manySlots is more than a job may have. Greater numbers count as this one, so that sums
// do not overflow.
const manySlots = 1 << 24

// allSlots is the number of slots where all nodes have one; spare nodes do not
// count.
func (f *runFlags) allSlots() int {
	if len(f.Hosts) == 0 {
		return min(f.Slots, manySlots) * min(max(1, f.Nodes), manySlots)
	}
	sum := 0
	for _, h := range f.Hosts[:max(0, len(f.Hosts)-f.SpareNodes)] {
		if h.Slots == 0 {
			return 0
		}
		sum += min(h.Slots, manySlots)
	}
	return sum
}

// runJob runs the job; its exit code is that of the command.
func (p *program) runJob(ctx context.Context, cfg launch.Config, verbose bool) error {
	cfg.Logger = newJobLogger(p.screen.stderr, verbose)
	cfg.Stdout, cfg.Stderr = p.screen.stdout, p.screen.stderr
	ctx = context.WithoutCancel(ctx) // it ends with an interrupt, which the ranks are to get instead
	began := time.Now()
	code, err := launch.Run(ctx, cfg)
	if errors.Is(err, launch.ErrConfig) {
		return &usageError{err}
	}
	say := p.say
	if errors.Is(err, launch.ErrAbandoned) {
		say = p.sayBriefly
	}
	rehearsed := cfg.Rehearsal != nil
	if err != nil && (!rehearsed || len(cfg.Rehearsal.Killed) == 0) { // which is told anyway
		say("%v", err)
	}
	if rehearsed {
		say("%s", rehearsalReport(*cfg.Rehearsal, code, storedText(storedBy(ctx, p, began))))
	}
	if code != exitFine {
		return &exitError{code}
	}
	return nil
}

// exitError ends the command with a code of its own; what there is to say was
// said.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// oneOf lists names for people.
func oneOf[T ~string](names []T) string {
	var list []string
	for _, n := range names {
		list = append(list, string(n))
	}
	return strings.Join(list, " or ")
}
