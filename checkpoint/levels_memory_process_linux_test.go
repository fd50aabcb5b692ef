package checkpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/internal/testprocess"
	"github.com/craft-go/craft/internal/testprogram"
	"github.com/craft-go/craft/internal/testseed"
)

// TestMemoryProcesses kills the processes of jobs with versions in memory, one by one and by nodes, at any
// moment: while they compute, while versions are written, and while they recover, also again and again. The
// result is that of a run without failures, and what is gone on with is never older than what a
// process knew to be complete, while fewer fail than there are copies, nor than what is on the parallel
// file system.
//
//	CRAFT_TEST_SECONDS  how long it goes on (2)
//	CRAFT_TEST_SEED     replays the choices (not the machine's timing)
func TestMemoryProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some 6 seconds")
	}
	k := &memoryKilling{t: t, rand: testseed.Rand(t), mark: testprocess.Mark(t), counts: make(map[string]int)}
	until := time.Now().Add(time.Duration(testseed.Number(t, "CRAFT_TEST_SECONDS", 2)) * time.Second)
	for k.rounds < 2 || time.Now().Before(until) {
		k.round()
	}
	t.Logf("%d rounds with %d failed processes: %v", k.rounds, k.failures, k.counts)
}

// memoryKilling is the test's side.
type memoryKilling struct {
	t                *testing.T
	rand             *rand.Rand
	mark             testprocess.Marked
	rounds, failures int
	counts           map[string]int
}

// killedJob is a job that is disturbed.
type killedJob struct {
	memoryJob
	cfg    launch.Config
	blows  []blow
	killed map[int]bool
	ended  chan error
	stderr *testprogram.Output
}

// blow is the death of a process, or of a node, some time after the one before.
type blow struct {
	after time.Duration
	node  bool
}

func (j *killedJob) String() string {
	return fmt.Sprintf("%+v, %d ranks on %d nodes, %d spare, %v, %v", j.memoryJob, j.cfg.Ranks, j.cfg.Nodes, j.cfg.SpareNodes, j.cfg.Policy, j.blows)
}

func oneOf[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

func (k *memoryKilling) newJob() *killedJob {
	rng := k.rand
	ranks := 2 + rng.IntN(6)
	j := &killedJob{killed: make(map[int]bool), ended: make(chan error, 1), stderr: new(testprogram.Output)}
	j.memoryJob = memoryJob{
		Dir: k.t.TempDir(), Mode: oneOf(rng, modes...), Copies: 2 + rng.IntN(2), Delta: rng.IntN(2) == 0,
		Levels: oneOf(rng, "mem", "mem:1,local:10,pfs:100", "mem:1,local:3", "mem:2,local:1", "mem:1,local:4,pfs:8", "mem:2,partner:3", "mem:1,pfs:5"),
		Cells:  oneOf(rng, 50, 5000, 200_000),
	}
	if !strings.HasPrefix(j.Levels, "mem:2") && rng.IntN(3) == 0 { // else what is in memory may need what is not
		j.Inner = 1 + rng.IntN(8)
	}
	j.cfg = launch.Config{
		Ranks: ranks, Nodes: 1 + rng.IntN(min(ranks, 4)), SpareNodes: rng.IntN(3), Repeats: 1000, NodePath: filepath.Join(j.Dir, "nodes"),
		Policy:    comm.Policy{Recovery: oneOf(rng, comm.Shrinking, comm.NonShrinking, comm.GlobalRestart), Spawn: oneOf(rng, comm.Reuse, comm.NoReuse)},
		Timing:    launch.Timing{Period: 50 * time.Millisecond, Lease: 30 * time.Second, Margin: 200 * time.Millisecond, Start: 30 * time.Second, Repair: -1},
		NoSignals: true,
	}
	j.Local = j.cfg.Policy.Recovery != comm.Shrinking
	j.Still = j.Local && rng.IntN(2) == 0 // what does not change depends on who has it
	if rng.IntN(2) == 0 {                 // the first process and its node are left
		for range 1 + rng.IntN(4) {
			j.Deaths = append(j.Deaths, memoryDeath{comm.OriginalRank(1 + rng.IntN(ranks-1)), len(j.Deaths) * rng.IntN(2), rng.Int64N(600), rng.IntN(3) == 0})
		}
		return j
	}
	if j.StuckFor = 500 * time.Millisecond; j.cfg.Policy.Recovery == comm.GlobalRestart && ranks > 2 {
		for epoch := range rng.IntN(3) {
			j.Stuck = append(j.Stuck, memoryDeath{Original: comm.OriginalRank(rng.IntN(ranks)), Epoch: epoch, Event: rng.Int64N(10)})
		}
	}
	for i := range 1 + rng.IntN(4) {
		b := blow{time.Duration(rng.Int64N(int64(300 * time.Millisecond))), rng.IntN(3) == 0}
		if i > 0 && rng.IntN(2) == 0 {
			b.after /= 10 // into the recovery
		}
		j.blows = append(j.blows, b)
	}
	return j
}

func (k *memoryKilling) start(j *killedJob) {
	arg, err := json.Marshal(j.memoryJob)
	require.NoError(k.t, err)
	j.cfg.Program, j.cfg.Args, j.cfg.Env = os.Args[0], []string{string(arg)}, []string{childVariable + "=" + jobScenario, "GORACE=atexit_sleep_ms=10", "CRAFT_RECOVERY_GRACE=50ms"}
	j.cfg.Stdout, j.cfg.Stderr = j.stderr, j.stderr
	go func() {
		ctx, cancel := context.WithTimeout(k.t.Context(), 4*jobPatience)
		defer cancel()
		code, err := launch.Run(ctx, j.cfg)
		if err == nil && code != 0 {
			err = fmt.Errorf("code %d", code)
		}
		j.ended <- err
	}()
}

// jobPatience is far beyond what the slowest machine needs.
const jobPatience = 2 * time.Minute

func (k *memoryKilling) round() {
	k.rounds++
	j := k.newJob()
	began := time.Now()
	k.start(j)
	started := func() bool { return k.count(j, "told-*")+k.count(j, "death-*") > 0 }
	k.until(j, started)
	for _, b := range j.blows {
		time.Sleep(b.after) // a random moment is what is wanted
		k.strike(j, b)
	}
	for deadline := time.Now().Add(time.Second); k.count(j, "death-*") < len(j.Deaths) && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond) // a process may have been ended by another one before
	}
	k.goesOn(j)
	require.NoError(k.t, os.WriteFile(j.file("end"), nil, 0o600))
	err := k.end(j)
	if testing.Verbose() {
		k.t.Logf("round %d: %v: %v in %v", k.rounds, j, err, time.Since(began).Round(time.Millisecond))
	}
	if err != nil && lateBlow.MatchString(err.Error()) {
		k.counts["jobs hit after their last step"]++
	} else {
		require.NoError(k.t, err, "%v\n%s", j, j.stderr)
	}
	k.mark.NoneLeft(k.t)
	k.evaluate(j)
}

// lateBlow is what a job says whose processes were hit when the zone had ended.
var lateBlow = regexp.MustCompile(`^(rank \d+ \(process \d+ on node \d+\): (node lost|signal: killed).*\n?)+$`)

func (k *memoryKilling) count(j *killedJob, pattern string) int {
	files, err := filepath.Glob(filepath.Join(j.Dir, pattern))
	require.NoError(k.t, err)
	return len(files)
}

// goesOn waits until more versions are complete.
func (k *memoryKilling) goesOn(j *killedJob) {
	newest := func() told {
		t, err := j.told()
		require.NoError(k.t, err)
		return t
	}
	before, seen := newest(), 0
	k.until(j, func() bool {
		now := newest()
		if now != before {
			before = now
			seen++
		}
		return seen > 2
	})
}

// until waits for something that the job does; it has ended: that is noticed later.
func (k *memoryKilling) until(j *killedJob, happened func() bool) {
	for deadline := time.Now().Add(jobPatience); !happened(); {
		select {
		case err := <-j.ended:
			j.ended <- err
			return
		case <-time.After(2 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			k.hangs(j)
		}
	}
}

func (k *memoryKilling) end(j *killedJob) error {
	select {
	case err := <-j.ended:
		return err
	case <-time.After(jobPatience):
		k.hangs(j)
	}
	return nil
}

// hangs lets the processes say where they are.
func (k *memoryKilling) hangs(j *killedJob) {
	for _, p := range k.mark.Processes(k.t) {
		if p.Variable("CRAFT_ROLE") == "rank" {
			_ = syscall.Kill(p.PID, syscall.SIGQUIT) // it may have ended
			time.Sleep(time.Second)
		}
	}
	require.FailNow(k.t, "it hangs", "%v\n%s", j, j.stderr)
}

// strike kills a process or a node. One process is left.
func (k *memoryKilling) strike(j *killedJob, b blow) {
	nodes := k.mark.Nodes(k.t, j.killed)
	at, pick := k.rand.Uint32(), k.rand.Uint32()
	if len(nodes) == 0 {
		return
	}
	node := nodes[int(at)%len(nodes)]
	victims := append(slices.Clone(node.Ranks), node.Daemon)
	if !b.node {
		victims = []int{node.Ranks[int(pick)%len(node.Ranks)]}
	}
	if len(nodes) == 1 && (b.node || len(node.Ranks) == 1) {
		return
	}
	for _, pid := range victims {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		j.killed[pid] = true
	}
	if b.node {
		k.counts["nodes killed"]++
	} else {
		k.counts["ranks killed"]++
	}
}

// evaluate counts what has happened, and looks at the memory that was in use in the end.
func (k *memoryKilling) evaluate(j *killedJob) {
	k.counts["deaths at an event"] += k.count(j, "death-*")
	k.counts["stuck"] += k.count(j, "stuck-*")
	k.counts["memory taken over"] += strings.Count(j.stderr.String(), "took over the versions in memory")
	content := func(pattern string) (out [][]string) {
		files, err := filepath.Glob(filepath.Join(j.Dir, pattern))
		require.NoError(k.t, err)
		for _, name := range files {
			b, err := os.ReadFile(name)
			require.NoError(k.t, err)
			out = append(out, strings.Fields(string(b)))
		}
		return out
	}
	for _, nodes := range content("failures-*") {
		k.failures += len(nodes)
	}
	k.counts["jobs that have lost everything"] += min(k.count(j, "gone-*"), 1)
	for _, restart := range content("restart-*") {
		k.counts["restarts with the newest version: "+restart[0]]++
	}
	for _, m := range content("memory-*") {
		k.checkMemory(j, m)
	}
}

// checkMemory bounds what a rank had in memory in the end, and at most, if those that are left are spread evenly:
// one version and two, of the stage before as well, each with pieces of memory that are not full.
func (k *memoryKilling) checkMemory(j *killedJob, m []string) {
	used, err := strconv.ParseInt(m[0], 10, 64)
	require.NoError(k.t, err)
	most, err := strconv.ParseInt(m[1], 10, 64)
	require.NoError(k.t, err)
	loops := int64(1)
	if j.Inner > 0 {
		loops = 3
	}
	left := int64(max(1, k.count(j, "memory-*")))
	part := int64(8*j.Cells)/left + 3<<18
	holds := min(left, 2*int64(j.Copies)) // on uneven nodes some have more than others
	require.LessOrEqual(k.t, used, loops*holds*part, "%v", j)
	require.LessOrEqual(k.t, most, 3*loops*int64(j.cfg.Ranks)*int64(j.Copies)*(int64(8*j.Cells)/left+3<<18), "%v", j)
}
