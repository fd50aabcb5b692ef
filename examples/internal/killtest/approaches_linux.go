package killtest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/internal/testprocess"
	"github.com/craft-go/craft/internal/testprogram"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/stretchr/testify/require"
)

// What a busy machine needs. A lease that is short finds out soon what was stopped.
const (
	shortLease = 2 * time.Second
	longLease  = time.Minute
	patience   = 2 * time.Minute
)

// rounds are jobs of one program under all approaches.
type rounds struct {
	t    *testing.T
	rand *rand.Rand
	mark testprocess.Marked
	temp string

	args []string
	same []string // fields of the result that have the same bits in all jobs
	want map[string]json.RawMessage
	took time.Duration

	turn             []approach // those that are still to come in this turn
	rounds, failures int
	recoveries, late int
	done             map[string]int // rounds with failures
}

// Approaches runs a program again and again, under each approach to failures in turn, in any mode, with versions
// anywhere, and kills and stops ranks, nodes and spare ranks at any moment: while they begin, while
// replacements are started, while the world is repaired. Each job ends with the same result, in all bits of the given fields,
// and nothing is left of it.
//
//	CRAFT_TEST_SECONDS  how long it goes on at least (2)
//	CRAFT_TEST_KILLS    how many failures there are at least (1)
//	CRAFT_TEST_SEED     replays the choices (not the machine's timing)
func Approaches(t *testing.T, args []string, same ...string) {
	r := &rounds{t: t, rand: testseed.Rand(t), mark: testprocess.Mark(t), temp: t.TempDir(), args: args, same: same, done: make(map[string]int)}
	t.Setenv("TMPDIR", r.temp)
	r.undisturbed()
	files, goroutines := openFiles(t), runtime.NumGoroutine()
	kills := testseed.Number(t, "CRAFT_TEST_KILLS", 1)
	until := time.Now().Add(time.Duration(testseed.Number(t, "CRAFT_TEST_SECONDS", 2)) * time.Second)
	for r.recoveries == 0 || r.failures < kills || time.Now().Before(until) {
		r.round()
	}
	r.nothingOpen(files, goroutines)
	t.Logf("%d rounds with %d failures, %d recoveries; %d jobs ended by a failure after their zone; with failures: %v", r.rounds, r.failures, r.recoveries, r.late, r.done)
}

// job is one that was started.
type job struct {
	cfg    launch.Config
	stdout testprogram.Output
	stderr testprogram.Output // and what the launcher tells
	ended  chan struct{}
	code   int
	err    error
}

func (r *rounds) start(cfg launch.Config, dir string, args ...string) *job {
	j := &job{cfg: cfg, ended: make(chan struct{})}
	j.cfg.Program, j.cfg.Args = os.Args[0], slices.Concat(r.args, args, []string{"-json", "-cp-path", filepath.Join(dir, "cp")})
	j.cfg.NodePath, j.cfg.Dir = filepath.Join(dir, "nodes"), dir
	j.cfg.Env = append(slices.Concat(testprogram.Environ(), environment), cfg.Env...)
	j.cfg.Stdout, j.cfg.Stderr, j.cfg.NoSignals = &j.stdout, &j.stderr, true
	j.cfg.Logger = slog.New(slog.NewTextHandler(&j.stderr, nil))
	go func() {
		defer close(j.ended)
		ctx, cancel := context.WithTimeout(r.t.Context(), 2*patience)
		defer cancel()
		j.code, j.err = launch.Run(ctx, j.cfg)
	}()
	return j
}

// wait for the end; ranks that hang say where they are.
func (r *rounds) wait(j *job, what string) {
	select {
	case <-j.ended:
		return
	case <-time.After(patience):
	}
	for _, p := range r.mark.Processes(r.t) {
		if p.Variable("CRAFT_ROLE") == "rank" {
			_ = syscall.Kill(p.PID, syscall.SIGQUIT)
		}
	}
	time.Sleep(2 * time.Second)
	require.FailNow(r.t, "it hangs", "%s\n%s", what, &j.stderr)
}

func (r *rounds) undisturbed() {
	dir := r.t.TempDir()
	began := time.Now()
	j := r.start(launch.Config{Ranks: 6, Nodes: 3, Timing: launch.Timing{Lease: longLease}}, dir)
	r.wait(j, "undisturbed")
	r.want = r.result(j, "undisturbed")
	r.took = time.Since(began)
}

// result is what a job that has ended well has printed.
func (r *rounds) result(j *job, what string) (result map[string]json.RawMessage) {
	what += fmt.Sprintf(": code %d, %v\n%s\n%s", j.code, j.err, &j.stdout, &j.stderr)
	require.NoError(r.t, j.err, what)
	require.Zero(r.t, j.code, what)
	require.NotContains(r.t, j.stderr.String(), "damaged", what)
	lines := strings.Split(strings.TrimSpace(j.stdout.String()), "\n")
	if j.cfg.Policy.Recovery != comm.Abort { // else a rank may be killed behind the first result
		require.Len(r.t, lines, 1, what)
	}
	require.NoError(r.t, json.Unmarshal([]byte(lines[len(lines)-1]), &result), what)
	for _, field := range r.same {
		require.NotEmpty(r.t, result[field], what)
		if r.want != nil {
			require.Equal(r.t, string(r.want[field]), string(result[field]), "%s: %s", field, what)
		}
	}
	return result
}

// plan is a round.
type plan struct {
	approach
	cfg    launch.Config
	args   []string
	blows  []blow
	early  bool // the first blow need not wait until all have been started
	again  bool // the job may be started again when it has ended
	resume bool // and is
}

func (p plan) String() string {
	return fmt.Sprintf("%s, %d ranks (%d spare) on %d nodes (%d spare) with %d slots, %s, %v, %v, early %v, %v", p.name, p.cfg.Ranks, p.cfg.SpareRanks,
		p.cfg.Nodes, p.cfg.SpareNodes, p.cfg.Slots, p.cfg.Policy.Spawn, p.cfg.Env, p.args, p.early, p.blows)
}

func (r *rounds) newPlan() plan {
	if len(r.turn) == 0 {
		r.turn = slices.Clone(approaches)
		r.rand.Shuffle(len(r.turn), func(i, k int) { r.turn[i], r.turn[k] = r.turn[k], r.turn[i] })
	}
	rng, level := r.rand, oneOf(r.rand, levels...)
	p := plan{approach: r.turn[0], early: rng.IntN(3) == 0}
	r.turn = r.turn[1:]
	stops := rng.IntN(8) == 0
	p.cfg = launch.Config{
		Ranks: 4 + rng.IntN(5), Nodes: 2 + rng.IntN(3), SpareNodes: rng.IntN(3), Repeats: 1000,
		Policy: comm.Policy{Spawn: oneOf(rng, comm.Reuse, comm.NoReuse)},
		Timing: launch.Timing{Period: 50 * time.Millisecond, Lease: longLease, Margin: 200 * time.Millisecond, Start: longLease, Repair: longLease},
	}
	if stops {
		p.cfg.Timing.Lease, p.early = shortLease, false
	}
	p.set(&p.cfg, rng)
	for level.nodes == 0 && moves(p.cfg) {
		level = oneOf(rng, levels...)
	}
	p.again = !level.onNodes
	p.resume = p.again && rng.IntN(6) == 0
	p.args = []string{"-levels", level.policy, "-async", string(oneOf(rng, jobs.Modes...)), "-freq", fmt.Sprint(oneOf(rng, 1, 1, 2, 5))}
	nodes := min(p.cfg.Nodes+p.cfg.SpareNodes-1, 2, level.nodes)
	p.blows = newBlows(rng, r.took, nodes, stops)
	if moves(p.cfg) && level.nodes < len(p.blows) {
		p.blows = p.blows[:level.nodes]
	}
	if p.early {
		p.blows[0].after /= 5 // while it begins
	}
	return p
}

// moves: a rank that is lost may leave a node without one, and what is on that cannot be read, as if the node were lost.
func moves(c launch.Config) bool {
	return c.Policy.Spawn == comm.NoReuse || c.SpareRanks > 0 || c.Slots > 0 || c.Policy.Recovery == comm.Shrinking
}

// round is one job with failures.
func (r *rounds) round() {
	r.rounds++
	p, dir := r.newPlan(), r.t.TempDir()
	what := fmt.Sprintf("round %d: %v", r.rounds, p)
	began := time.Now()
	j := r.start(p.cfg, dir, p.args...)
	s := r.disturb(j, p)
	r.wait(j, what)
	for _, timer := range s.stopped {
		timer.Stop()
	}
	if testing.Verbose() {
		r.t.Logf("%s: %d failures, code %d, %v in %v", what, s.done, j.code, j.err, time.Since(began).Round(time.Millisecond))
	}
	r.nothingLeft(what)
	r.failures += s.done
	if s.done > 0 {
		r.done[p.name]++
	}
	isLate := p.cfg.Restarts == 0 && s.done > 0 && j.err != nil && lateReport.MatchString(j.err.Error())
	if isLate {
		r.late++
	} else {
		var got jobResult
		text, err := json.Marshal(r.result(j, what))
		require.NoError(r.t, err)
		require.NoError(r.t, json.Unmarshal(text, &got))
		r.recoveries += got.Recoveries
	}
	if isLate && p.again || p.resume { // it goes on from what it has left
		j = r.start(p.cfg, dir, p.args...)
		r.wait(j, what)
		r.nothingLeft(what)
		r.result(j, "again, "+what)
	}
	require.NoError(r.t, os.RemoveAll(dir))
}

// disturb does what is planned, as long as the job runs.
func (r *rounds) disturb(j *job, p plan) *striker {
	s := &striker{t: r.t, mark: r.mark, spared: make(map[int]bool), known: make(map[int]bool)}
	least := p.cfg.Ranks
	if p.early {
		least = 1
	}
	for there := 0; there < least; { // a fast job may have ended already
		select {
		case <-j.ended:
			return s
		case <-time.After(time.Millisecond):
		}
		ranks, _ := s.processes()
		there = len(ranks)
	}
	if p.survivor {
		s.spare()
	}
	s.look()
	for _, b := range p.blows {
		select {
		case <-j.ended:
			return s
		case <-time.After(b.after):
		}
		if b.starts {
			s.started(j.ended)
		}
		s.strike(b)
	}
	return s
}

// nothingLeft waits for the last orphans of killed daemons to be gone.
func (r *rounds) nothingLeft(what string) {
	r.mark.NoneLeft(r.t)
	left, err := filepath.Glob(filepath.Join(r.temp, "craft*"))
	require.NoError(r.t, err)
	require.Empty(r.t, left, "temporary directories are left: %s", what)
}

// nothingOpen waits for what the last job had open in this process, which was its root.
func (r *rounds) nothingOpen(files, goroutines int) {
	for deadline := time.Now().Add(time.Minute); openFiles(r.t) > files || runtime.NumGoroutine() > goroutines; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<16)
			r.t.Fatalf("descriptors: %d, at first %d; goroutines: %d, at first %d\n%s",
				openFiles(r.t), files, runtime.NumGoroutine(), goroutines, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

func openFiles(t *testing.T) int {
	open, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(open)
}
