package launch

import (
	"io"
	"log/slog"
	"time"

	"github.com/craft-go/craft/aft/comm"
)

// The defaults of a Config.
const (
	DefaultLease  = 5 * time.Second
	DefaultRepair = 15 * time.Minute
	DefaultStart  = 30 * time.Second
)

// DefaultAgent is the agent that starts daemons on other hosts.
var DefaultAgent = []string{"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5"}

// Host is a machine of a job.
type Host struct {
	Name  string // as the agent and the other hosts know it
	Slots int    // ranks that it may have; 0: any number
}

// Timing says how silence is judged.
type Timing struct {
	Period time.Duration // between two signs of life
	// Lease is the time of silence after which a rank or a node is killed.
	Lease time.Duration
	// Margin is what the root waits in addition before it declares a silent node dead.
	Margin time.Duration
	// Start is how long daemons may take to report.
	Start time.Duration
	// Repair is how long a repair waits for ranks that are alive but do not come; then
	// they are killed.
	Repair time.Duration
}

// Config describes a job. Program and Ranks are needed.
type Config struct {
	// Program is looked up as a shell does it.
	Program string
	Args    []string
	// Ranks is the number of ranks.
	Ranks int

	// Nodes is the number of virtual nodes on this machine (default 1), each of
	// Slots ranks at most (0: any number). It excludes Hosts.
	Nodes int
	Slots int
	// Hosts are the machines of the job, with a daemon each.
	Hosts []Host
	// Agent is the command that runs a command line on a host: {host} in its
	// words stands for the name, which is appended if there is none. The default
	// is DefaultAgent, except for this machine (its name, or localhost), which
	// needs none.
	Agent []string
	// SpareNodes is the number of nodes that are kept for replacements: the last
	// ones of Hosts, or so many in addition to Nodes.
	SpareNodes int

	// SpareRanks is the number of processes of the program that are started with the job and wait
	// in aft.Run: one takes the place of a rank that has failed at once, and another one is started.
	SpareRanks int

	// Policy is given to the ranks by their environment where it is set; zones
	// that set a policy of their own win.
	Policy comm.Policy
	// Repeats is how often a rank may fail in the same way without the job
	// getting on; 3*Repeats+1 failures of any kind end it too. 0: 3.
	Repeats int
	// Restarts is how often the job is deployed again as a whole, on the nodes that are alive, when
	// it has ended by a failure: by one with the policy comm.Abort, by one that could not be repaired
	// with others. Repeats deployments in a row that have failed without getting on end it too.
	// Ranks find the number of restarts before them in CRAFT_RESTART.
	Restarts int
	// FallBack: a job whose processes have died of their own Repeats times without getting on is deployed
	// once more, and goes back one version (checkpoint.WithRestartFrom says what that means). Nothing is deleted. If it
	// dies again and again there too, it ends.
	FallBack bool
	// RestartDelay is the time between two deployments.
	RestartDelay time.Duration
	// Grace is how long after a request to end, such as a signal, there is until everything has to be over
	// (default: CRAFT_GRACE, 25s). The ranks find it in CRAFT_GRACE.
	Grace time.Duration
	// Rehearsal has the job asked to end as a batch system would; nil: it is not.
	Rehearsal *Rehearsal
	// Timing: zero fields get defaults (lease 5s, period a tenth of it, start
	// 30s, repair CRAFT_REPAIR_TIMEOUT or 15 minutes). Repair < 0: no limit.
	Timing Timing

	// Stdout and Stderr take the output of the ranks (default: those of this
	// process). TagOutput puts "[rank] " before each line.
	Stdout, Stderr io.Writer
	TagOutput      bool
	// Dir is the working directory of the ranks (default: that of this process).
	Dir string
	// Env is added to the environment of the ranks.
	Env []string
	// NodePath is the base of the nodes' own storage directories (default:
	// CRAFT_NODE_PATH; else, with CRAFT_LEVELS, the default of that; else a
	// temporary directory for each, removed in the end).
	NodePath string
	// Logger gets what happens to the job (default: nobody, but slog.Default gets the
	// CRAFT_ variables that nothing reads).
	Logger *slog.Logger
	// NoSignals leaves this process's signals alone; else SIGINT, SIGTERM,
	// SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 are forwarded to all ranks or, if the program takes
	// them (checkpoint.OnSignal), are requests to the job; then a second SIGINT, a second or more after
	// the first, ends it at once with 130. Of other programs the third SIGINT
	// or SIGTERM kills the job. SIGPIPE ends nothing any more, also when Run has returned:
	// where Stdout or Stderr has no reader any more (EPIPE), the ranks are asked to end by
	// SIGTERM.
	NoSignals bool
}
