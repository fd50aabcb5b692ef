package replica_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/internal/testprocess"
	"github.com/craft-go/craft/internal/testprogram"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage/replica"
)

// TestFailuresOfProcesses kills and stops the processes of jobs that submit, load, repair and rebalance, one
// by one and by nodes, at any moment, so also while others are still being replaced. What is there is
// always one version in full, but for what is lost, and never an older one than any process had been
// told; nothing is lost while fewer fail than there are copies.
//
//	CRAFT_TEST_SECONDS  how long it goes on (3)
//	CRAFT_TEST_ROUNDS   how many jobs there are at least (2)
//	CRAFT_TEST_SEED     replays the choices (not the machine's timing)
func TestFailuresOfProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some 5 seconds")
	}
	k := &killing{t: t, rand: testseed.Rand(t), mark: testprocess.Mark(t), counts: make(map[string]int)}
	until := time.Now().Add(time.Duration(testseed.Number(t, "CRAFT_TEST_SECONDS", 3)) * time.Second)
	for least := testseed.Number(t, "CRAFT_TEST_ROUNDS", 2); k.rounds < least || time.Now().Before(until); {
		k.round()
	}
	t.Logf("%d rounds with %d lost processes: %v", k.rounds, k.failures, k.counts)
}

// killing is the test's side.
type killing struct {
	t        *testing.T
	rand     *rand.Rand
	mark     testprocess.Marked
	rounds   int
	failures int
	counts   map[string]int
}

// The machine may be busy, and a lease so short that it ends undisturbed processes: so it is short only where a
// process stands still for longer.
const (
	shortLease = 3 * time.Second
	longLease  = 30 * time.Second
)

// job is one that is disturbed.
type job struct {
	program
	cfg     launch.Config
	ended   chan error
	stderr  *testprogram.Output
	plan    []blow
	stopped map[int]bool // processes that are, or were for longer than a lease
	killed  map[int]bool
	struck  int // failures so far
}

// blow is what happens to processes some time after the one before.
type blow struct {
	after time.Duration
	node  bool
	stop  time.Duration // 0: they are killed
	zone  int
}

func (b blow) kind() string {
	what, how := "rank", "killed "
	if b.node {
		what = "node"
	}
	switch {
	case b.stop > shortLease:
		how = "long stopped "
	case b.stop > 0:
		how = "stopped "
	}
	return how + what
}

func (b blow) String() string {
	return fmt.Sprintf("%s %v later in zone %d", b.kind(), b.after, b.zone)
}

// newJob draws one.
func (k *killing) newJob() *job {
	ranks := 2 + k.rand.IntN(7)
	j := &job{ended: make(chan error, 1), stderr: new(testprogram.Output), stopped: make(map[int]bool), killed: make(map[int]bool)}
	j.program = program{
		Dir: k.t.TempDir(), Zones: 1 + k.rand.IntN(4)/3, Stores: 1 + k.rand.IntN(3)/2, By: k.rand.IntN(2),
		Rebalance: k.rand.IntN(3) == 0, Queue: k.rand.IntN(3) == 0, OwnRepair: k.rand.IntN(4) == 0, NoContext: k.rand.IntN(3) == 0, Vary: k.rand.IntN(3) == 0, Reopen: k.rand.IntN(4) == 0,
	}
	j.Size = []int{0, 0, 8, 64, 1000, 40_000, 300_000}[k.rand.IntN(7)]
	most := int64(4 << 20)
	if k.rand.IntN(4) == 0 {
		most *= 3
	}
	j.N = 1 + k.rand.Int64N(max(min(30_000, most/int64(max(j.Size, 1))), 3))
	j.Options = replica.Options{
		Copies: 1 + k.rand.IntN(min(ranks, 3)), RangeBytes: []int{100, 3000, 100_000, 1 << 20}[k.rand.IntN(4)],
		Consecutive: k.rand.IntN(2) == 0, Probe: replica.Probe(k.rand.IntN(2)), Seed: k.rand.Uint64(), SharedNodes: true,
		NoDirect: k.rand.IntN(3) == 0,
	}
	j.cfg = launch.Config{
		Ranks: ranks, Nodes: 1 + k.rand.IntN(min(ranks, 4)), SpareNodes: k.rand.IntN(3), Repeats: 1000,
		Policy: comm.Policy{
			Recovery: []comm.Recovery{comm.Shrinking, comm.NonShrinking}[k.rand.IntN(2)],
			Spawn:    []comm.SpawnPolicy{comm.Reuse, comm.NoReuse}[k.rand.IntN(2)],
		},
		Timing: launch.Timing{
			Period: 50 * time.Millisecond, Lease: longLease, Margin: 200 * time.Millisecond, Start: 30 * time.Second, Repair: -1,
		},
		NoSignals: true,
	}
	if k.rand.IntN(2) == 0 { // the first process and its node are left
		for range 1 + k.rand.IntN(3) {
			j.Deaths = append(j.Deaths, death{comm.OriginalRank(1 + k.rand.IntN(ranks-1)), k.rand.Int64N(300), k.rand.IntN(3) == 0})
		}
		return j
	}
	j.draw(k.rand)
	return j
}

// draw plans what the test does to processes.
func (j *job) draw(rng *rand.Rand) {
	for i := range 1 + rng.IntN(4) {
		b := blow{after: time.Duration(rng.Int64N(int64(300 * time.Millisecond))), node: rng.IntN(3) == 0}
		if i > 0 && rng.IntN(2) == 0 {
			b.after /= 6 // into the recovery
		}
		switch rng.IntN(12) {
		case 0:
			b.stop = time.Duration(1+rng.Int64N(800)) * time.Millisecond
		case 1:
			b.stop = shortLease + time.Second
		}
		b.zone = rng.IntN(j.Zones)
		j.plan = append(j.plan, b)
	}
	if slices.ContainsFunc(j.plan, func(b blow) bool { return b.stop > shortLease }) {
		j.cfg.Timing.Lease = shortLease
	}
	slices.SortStableFunc(j.plan, func(a, b blow) int { return a.zone - b.zone })
}

// start starts it.
func (k *killing) start(j *job) {
	arg, err := json.Marshal(j.program)
	require.NoError(k.t, err)
	j.cfg.Program, j.cfg.Args, j.cfg.Env = os.Args[0], []string{string(arg)}, testprogram.Environ()
	j.cfg.Stdout, j.cfg.Stderr = j.stderr, j.stderr
	go func() {
		ctx, cancel := context.WithTimeout(k.t.Context(), 4*patience)
		defer cancel()
		code, err := launch.Run(ctx, j.cfg)
		if err == nil && code != 0 {
			err = fmt.Errorf("code %d", code)
		}
		j.ended <- err
	}()
}

func (k *killing) round() {
	k.rounds++
	j := k.newJob()
	began := time.Now()
	k.start(j)
	k.until(j, func() bool { return k.known(j) > 0 || k.deaths(j) > 0 })
	for zone := range j.Zones {
		for _, b := range j.plan {
			if b.zone == zone {
				time.Sleep(b.after) // a random moment is what is wanted
				k.strike(j, b)
			}
		}
		if zone == 0 {
			k.die(j)
		}
		known := k.known(j)
		k.until(j, func() bool { return k.known(j) > known+1 })
		require.NoError(k.t, os.WriteFile(endFile(j.Dir, zone), nil, 0o600))
	}
	err := k.end(j)
	deaths := k.deaths(j)
	j.struck += deaths
	k.counts["processes at an event of theirs"] += deaths
	if testing.Verbose() {
		k.t.Logf("round %d: %v, struck %d: %v in %v", k.rounds, j, j.struck, err, time.Since(began).Round(time.Millisecond))
	}
	if err != nil && late.MatchString(err.Error()) {
		k.counts["jobs hit after their last step"]++
	} else {
		require.NoError(k.t, err, "%v\n%s", j, j.stderr)
	}
	k.mark.NoneLeft(k.t)
	k.checkLoss(j)
}

// die waits for the planned deaths, but not for one whose process another one has ended before.
func (k *killing) die(j *job) {
	for began := time.Now(); k.deaths(j) < len(j.Deaths) && time.Since(began) < time.Second; time.Sleep(5 * time.Millisecond) {
	}
}

// deaths counts those that have happened.
func (k *killing) deaths(j *job) (n int) {
	for i := range j.Deaths {
		if _, err := os.Stat(deathFile(j.Dir, i)); err == nil {
			n++
		}
	}
	return n
}

// late is what a job says whose processes were hit when the zone had ended.
var late = regexp.MustCompile(`^(rank \d+ \(process \d+ on node \d+\): (node lost|signal: killed).*\n?)+$`)

func (j *job) String() string {
	return fmt.Sprintf("%+v, %d ranks on %d nodes, %d spare, %v, %v", j.program, j.cfg.Ranks, j.cfg.Nodes, j.cfg.SpareNodes, j.cfg.Policy, j.plan)
}

// known is the newest version of the first store that a process has been told.
func (k *killing) known(j *job) uint64 {
	s := &storeOf{p: &j.program, name: "store-0"}
	told, err := s.told()
	require.NoError(k.t, err)
	return told
}

// until waits for something that the job does; it has ended: that is noticed later.
func (k *killing) until(j *job, happened func() bool) {
	for deadline := time.Now().Add(patience); !happened(); {
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

func (k *killing) end(j *job) error {
	select {
	case err := <-j.ended:
		return err
	case <-time.After(patience):
		k.hangs(j)
	}
	return nil
}

// hangs lets the processes say where they are.
func (k *killing) hangs(j *job) {
	for _, p := range k.mark.Processes(k.t) {
		if p.Variable("CRAFT_ROLE") == "rank" {
			_ = syscall.Kill(p.PID, syscall.SIGQUIT) // it may have ended
			time.Sleep(time.Second)
		}
	}
	require.FailNow(k.t, "it hangs", "%v\n%s", j, j.stderr)
}

// strike kills or stops a process or a node. One node with a process that was never stopped is left.
func (k *killing) strike(j *job, b blow) {
	nodes := k.mark.Nodes(k.t, j.killed)
	sound := func(n testprocess.Node) bool {
		return slices.ContainsFunc(n.Ranks, func(pid int) bool { return !j.stopped[pid] })
	}
	i := k.rand.Uint32()
	pick := k.rand.Uint32()
	if len(nodes) == 0 {
		return
	}
	at := int(i) % len(nodes)
	others := slices.Delete(slices.Clone(nodes), at, at+1)
	victims := append(slices.Clone(nodes[at].Ranks), nodes[at].Daemon)
	if !slices.ContainsFunc(others, sound) {
		if b.node || len(nodes[at].Ranks) < 2 {
			return
		}
	}
	if !b.node {
		victims = []int{nodes[at].Ranks[int(pick)%len(nodes[at].Ranks)]}
		left := slices.DeleteFunc(slices.Clone(nodes[at].Ranks), func(pid int) bool { return pid == victims[0] || j.stopped[pid] })
		if len(left) == 0 && !slices.ContainsFunc(others, sound) {
			return
		}
	}
	j.struck++
	k.counts[b.kind()]++
	if b.stop == 0 {
		signal(victims, syscall.SIGKILL)
		for _, pid := range victims {
			j.killed[pid] = true
		}
		return
	}
	signal(victims, syscall.SIGSTOP)
	for _, pid := range victims {
		j.stopped[pid] = true
	}
	time.Sleep(b.stop)
	signal(victims, syscall.SIGCONT)
}

// signal is sent to all that are there still.
func signal(pids []int, s syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, s)
	}
}

// checkLoss makes sure that nothing was lost while fewer processes failed, or processes of fewer nodes, than
// there are copies. On a busy machine more may fail than were struck.
func (k *killing) checkLoss(j *job) {
	files, err := filepath.Glob(failuresFile(j.Dir, "*"))
	require.NoError(k.t, err)
	processes, nodes := 0, 0
	for _, name := range files {
		b, err := os.ReadFile(name)
		require.NoError(k.t, err)
		var p, n int
		_, err = fmt.Sscan(string(b), &p, &n)
		require.NoError(k.t, err)
		processes, nodes = processes+p, nodes+n
	}
	k.failures += processes
	if _, err := os.Stat(forgottenFile(j.Dir)); err == nil {
		k.counts["jobs that have forgotten everything"]++
	}
	loss, err := os.ReadFile(lossFile(j.Dir))
	if os.IsNotExist(err) {
		return
	}
	require.NoError(k.t, err)
	k.counts["jobs with losses"]++
	copies := j.Options.Copies
	if processes < copies || nodes < copies && j.cfg.Nodes-nodes >= copies {
		require.FailNow(k.t, "blocks are lost", "%v, %d processes of %d nodes have failed\n%s%s", j, processes, nodes, loss, j.stderr)
	}
}
