package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/internal/testprocess"
	"github.com/craft-go/craft/internal/testprogram"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/stretchr/testify/require"
)

// TestChaos runs the program on 8 ranks of 4 nodes and kills and stops ranks and
// daemons at random times, so also during recoveries. The result must be that of
// an undisturbed run: the same digest when ranks are replaced, the same
// eigenvalues when the job shrinks; and nothing may be left running.
//
//	CRAFT_TEST_SECONDS  how long it goes on (4)
//	CRAFT_TEST_SEED     replays the choices (not the machine's timing)
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	c := newChaos(t)
	for _, p := range c.problems {
		p.want = c.undisturbed(p)
	}
	files, goroutines := openFiles(t), runtime.NumGoroutine()
	until := time.Now().Add(time.Duration(testseed.Number(t, "CRAFT_TEST_SECONDS", 4)) * time.Second)
	for c.rounds < minimalRounds || c.recoveries == 0 || time.Now().Before(until) {
		c.round()
	}
	t.Logf("%d rounds with %d failures (%s), %d recoveries; %d jobs ended by a failure after their last step",
		c.rounds, c.failures, c.byKind(), c.recoveries, c.late)
	if c.rounds >= 50 { // a few may all be late when the machine is busy
		require.LessOrEqual(t, c.late, c.rounds/5)
	}
	c.nothingLeaks(files, goroutines)
}

// nothingLeaks waits for what the last job had open.
func (c *chaos) nothingLeaks(files, goroutines int) {
	for deadline := time.Now().Add(time.Minute); openFiles(c.t) > files || runtime.NumGoroutine() > goroutines; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<16)
			c.t.Fatalf("descriptors: %d, at first %d; goroutines: %d, at first %d\n%s",
				openFiles(c.t), files, runtime.NumGoroutine(), goroutines, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

const (
	chaosRanks    = 8
	chaosNodes    = 4
	minimalRounds = 3
	// nodeFailures is how many nodes fail in a round at most: one must be left.
	nodeFailures = 2
)

// chaosTiming has a short lease, so that what was stopped is soon found out (with less
// than 1 s a busy machine lost all nodes at once, because the root stood still), but
// patience with the start, when a busy machine has not begun to run all of it.
var chaosTiming = launch.Timing{
	Period: 50 * time.Millisecond, Lease: 2 * time.Second, Margin: 200 * time.Millisecond, Start: 15 * time.Second, Repair: 20 * time.Second,
}

type chaos struct {
	t    *testing.T
	rand *rand.Rand
	mark testprocess.Marked // all processes of the jobs
	temp string

	problems []*chaosProblem
	kinds    map[string]int

	rounds, failures, recoveries, late int
}

type chaosProblem struct {
	args        []string
	iterations  int
	frequencies []int // of checkpoints
	want        chaosRun
}

// chaosRun is a job that has ended.
type chaosRun struct {
	code   int
	err    error
	stdout string
	stderr string
	took   time.Duration
	result
}

func newChaos(t *testing.T) *chaos {
	seed := testseed.Seed(t)
	c := &chaos{
		t: t, rand: rand.New(rand.NewPCG(seed, 0)), temp: t.TempDir(), kinds: make(map[string]int),
		mark: testprocess.Marked(fmt.Sprintf("EXAMPLE_CHAOS=%d-%d", os.Getpid(), seed)),
		problems: []*chaosProblem{
			{args: strings.Fields("-nx 24 -ny 20 -disorder 0.5 -eigs 3 -iters 450"), iterations: 450, frequencies: []int{5, 20, 50}},
			// With vectors that are large enough for zero-copy.
			{args: strings.Fields("-nx 190 -ny 180 -disorder 0.5 -eigs 3 -iters 50"), iterations: 50, frequencies: []int{1, 3, 10}},
		},
	}
	name, value, _ := strings.Cut(string(c.mark), "=")
	t.Setenv(name, value)
	t.Setenv("TMPDIR", c.temp)
	return c
}

// start starts a job; the channel gets its end.
func (c *chaos) start(cfg launch.Config, args []string) <-chan chaosRun {
	var stdout, stderr testprogram.Output
	cfg.Program, cfg.Args = os.Args[0], append(args, "-json")
	cfg.Ranks, cfg.Nodes, cfg.Repeats = chaosRanks, chaosNodes, 1000
	cfg.Env = append(testprogram.Environ(), "CRAFT_SYNC=none") // the machine stays up
	cfg.Stdout, cfg.Stderr, cfg.NoSignals = &stdout, &stderr, true
	ended := make(chan chaosRun, 1)
	go func() {
		began := time.Now()
		ctx, cancel := context.WithTimeout(c.t.Context(), 3*time.Minute)
		defer cancel()
		code, err := launch.Run(ctx, cfg)
		if ctx.Err() != nil {
			err = fmt.Errorf("the job hung: %w", ctx.Err())
		}
		ended <- chaosRun{code: code, err: err, took: time.Since(began), stdout: stdout.String(), stderr: stderr.String()}
	}()
	return ended
}

// undisturbed is what a job comes to that nothing happens to, not even a busy machine.
func (c *chaos) undisturbed(p *chaosProblem) chaosRun {
	r := <-c.start(launch.Config{Timing: launch.Timing{Lease: time.Minute}}, append(p.args[:len(p.args):len(p.args)], "-cp-path", c.t.TempDir()))
	c.succeeded(&r, p)
	require.Equal(c.t, chaosRanks, r.Ranks)
	require.Zero(c.t, r.Recoveries)
	return r
}

func (c *chaos) succeeded(r *chaosRun, p *chaosProblem) {
	require.NoError(c.t, r.err, "round %d, %v\n%s", c.rounds, p.args, r.stderr)
	require.Zero(c.t, r.code, "round %d, %v\n%s", c.rounds, p.args, r.stderr)
	require.Equal(c.t, 1, strings.Count(r.stdout, "\n"), "round %d: %q\n%s", c.rounds, r.stdout, r.stderr)
	require.NoError(c.t, json.Unmarshal([]byte(r.stdout), &r.result))
	require.NotContains(c.t, r.stderr, "damaged")
}

// round is one job with failures.
func (c *chaos) round() {
	c.rounds++
	p := c.problems[c.rand.IntN(len(c.problems))]
	policy := comm.Policy{Recovery: comm.NonShrinking, Spawn: comm.NoReuse}
	if c.rand.IntN(2) == 0 {
		policy.Recovery = comm.Shrinking
	}
	if c.rand.IntN(2) == 0 {
		policy.Spawn = comm.Reuse
	}
	cfg := launch.Config{Policy: policy, SpareNodes: c.rand.IntN(2), Timing: chaosTiming}
	mode := []checkpoint.AsyncMode{checkpoint.AsyncOff, checkpoint.AsyncCopy, checkpoint.AsyncZeroCopy}[c.rand.IntN(3)]
	frequency := p.frequencies[c.rand.IntN(len(p.frequencies))]
	dir := filepath.Join(c.t.TempDir(), "cp")
	args := append(p.args[:len(p.args):len(p.args)], "-cp-path", dir, "-async", string(mode),
		"-cp-freq", strconv.Itoa(frequency))
	plan := c.newPlan(p.want.took)
	ended := c.start(cfg, args)
	r, done := c.disturb(plan, ended)
	what := fmt.Sprintf("round %d: %s %s, %d spare, %v, %v", c.rounds, policy.Recovery, policy.Spawn, cfg.SpareNodes, args, plan)
	c.nothingLeft(what)
	if testing.Verbose() {
		c.t.Logf("%s: %d failures, code %d in %v", what, done, r.code, r.took.Round(time.Millisecond))
	}
	if r.code != 0 && done > 0 && lateReport.MatchString(r.err.Error()) {
		c.late++
		r = c.again(<-c.start(cfg, args), p, frequency, what)
	}
	c.compare(&r, p, policy, what)
	require.NoError(c.t, os.RemoveAll(dir))
}

// lateReport is what a job says whose ranks were hit when the zone had ended,
// before they had left: then nothing is repaired.
var lateReport = regexp.MustCompile(`^(rank \d+ \(process \d+ on node \d+\): (node lost|signal: killed).*\n?)+$`)

// again is the second start of such a job: it goes on from the last checkpoint
// that there could be, else the report was wrong.
func (c *chaos) again(r chaosRun, p *chaosProblem, frequency int, what string) chaosRun {
	c.nothingLeft(what)
	c.succeeded(&r, p)
	require.Equal(c.t, (p.iterations-1)/frequency*frequency+1, r.RestartedFrom, what)
	return r
}

func (c *chaos) compare(r *chaosRun, p *chaosProblem, policy comm.Policy, what string) {
	c.succeeded(r, p)
	c.recoveries += r.Recoveries
	if policy.Recovery == comm.NonShrinking {
		require.Equal(c.t, p.want.Digest, r.Digest, what)
		require.Equal(c.t, chaosRanks, r.Ranks, what)
	}
	require.Len(c.t, r.Eigenvalues, len(p.want.Eigenvalues), what)
	for i, want := range p.want.Eigenvalues {
		require.InEpsilon(c.t, want, r.Eigenvalues[i], 1e-10, what)
	}
	require.Equal(c.t, p.want.Converged, r.Converged, what)
}

// blow is one failure.
type blow struct {
	after time.Duration // the one before
	node  bool
	sig   syscall.Signal
	pick  uint32 // which one of those that are there
}

func (b blow) kind() string {
	what := "rank"
	if b.node {
		what = "node"
	}
	return map[syscall.Signal]string{syscall.SIGKILL: "killed ", syscall.SIGSTOP: "stopped "}[b.sig] + what
}

func (b blow) String() string {
	return fmt.Sprintf("%s %v later", b.kind(), b.after.Round(time.Millisecond))
}

// newPlan is what happens in a round: one to four failures, some of them shortly
// after another one.
func (c *chaos) newPlan(long time.Duration) []blow {
	plan := make([]blow, 1+c.rand.IntN(4))
	nodes := 0
	for i := range plan {
		span := long
		if i > 0 && c.rand.IntN(2) == 0 {
			span = 30 * time.Millisecond // into the recovery
		}
		b := blow{after: time.Duration(c.rand.Int64N(int64(span))), sig: syscall.SIGKILL, pick: c.rand.Uint32()}
		b.node = c.rand.IntN(4) == 0 && nodes < nodeFailures
		if b.node {
			nodes++
		}
		if c.rand.IntN(4) == 0 {
			b.sig = syscall.SIGSTOP
		}
		plan[i] = b
	}
	return plan
}

// disturb does what is planned, until the job has ended, and waits for that. It
// returns the number of failures.
func (c *chaos) disturb(plan []blow, ended <-chan chaosRun) (r chaosRun, done int) {
	for _, b := range plan {
		select {
		case r := <-ended:
			return r, done
		case <-time.After(b.after):
		}
		those := c.targets(b.node)
		if len(those) == 0 {
			continue // they are on their way, or gone
		}
		if syscall.Kill(those[int(b.pick)%len(those)], b.sig) == nil {
			done++
			c.failures++
			c.kinds[b.kind()]++
		}
	}
	return <-ended, done
}

// targets are the daemons, or the ranks, that there are. A job does not start if a
// node fails before all of them are there: then it has no ranks yet.
func (c *chaos) targets(nodes bool) []int {
	var daemons, ranks []int
	guards := make(map[int]bool)
	all := c.processes()
	for _, p := range all {
		guards[p.pid] = p.role == "guard"
	}
	for _, p := range all {
		switch {
		case p.role == "rank":
			ranks = append(ranks, p.pid)
		case p.role == "daemon" && guards[p.parent]: // else it is becoming a rank
			daemons = append(daemons, p.pid)
		}
	}
	if nodes && len(ranks) > 0 {
		return daemons
	} else if nodes {
		return nil
	}
	return ranks
}

func (c *chaos) byKind() string {
	return fmt.Sprintf("%d killed ranks, %d killed nodes, %d stopped ranks, %d stopped nodes",
		c.kinds["killed rank"], c.kinds["killed node"], c.kinds["stopped rank"], c.kinds["stopped node"])
}

// nothingLeft waits for the last orphans of killed daemons to be gone.
func (c *chaos) nothingLeft(what string) {
	require.Eventually(c.t, func() bool { return len(c.processes()) == 0 }, time.Minute, 5*time.Millisecond, "left running: %v", what)
	left, err := os.ReadDir(c.temp)
	require.NoError(c.t, err)
	var names []string
	for _, e := range left {
		if strings.HasPrefix(e.Name(), "craft") {
			names = append(names, e.Name())
		}
	}
	require.Empty(c.t, names, "temporary directories are left: %s", what)
}

// process is one of a job.
type process struct {
	pid, parent int
	role        string // guard, daemon, rank
	dir         string // of a rank's node
}

// processes looks for those of the present job.
func (c *chaos) processes() (all []process) {
	for _, p := range c.mark.Processes(c.t) {
		all = append(all, process{p.PID, p.Parent, p.Variable("CRAFT_ROLE"), p.Variable("CRAFT_NODE_PATH")})
	}
	return all
}

func openFiles(t *testing.T) int {
	open, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(open)
}
