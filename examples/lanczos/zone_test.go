package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/stretchr/testify/require"
)

// on runs the small problem on four processes; what was lost in between must not
// be seen in the result.
func on(more ...string) []string { return small(append([]string{"-np", "4"}, more...)...) }

func relative(t *testing.T, want, got []float64) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		require.InEpsilon(t, want[i], got[i], 1e-10)
	}
}

// TestProcesses: goroutines and processes compute the same.
func TestProcesses(t *testing.T) {
	want := newProgram(t).result(small("-ranks", "4")...)
	p := newProgram(t)
	got := p.result(on("-nodes", "2")...)
	require.Equal(t, want.Digest, got.Digest)
	require.Equal(t, want.Eigenvalues, got.Eigenvalues)
	require.Equal(t, want.VersionsWritten, got.VersionsWritten)
	require.Equal(t, want.BytesWritten, got.BytesWritten)
	require.Equal(t, 4, got.Ranks)
	require.Equal(t, -1, got.RestartedFrom)
	require.Zero(t, got.Recoveries)
	require.Zero(t, got.Overheads.Recovery)

	again := p.result(on()...)
	require.Equal(t, 300, again.RestartedFrom)
	require.Equal(t, want.Digest, again.Digest)
}

// turn gives the cases of a table the modes in turn, from a random one on: what is written, and
// what is done about a failure, know little of each other. With -short two cases of three
// have none; with CRAFT_TEST_SECONDS each has all.
type turn struct{ next, cases int }

func newTurn(t *testing.T) *turn {
	rng := testseed.Rand(t)
	return &turn{next: rng.IntN(len(jobs.Modes)), cases: rng.IntN(3)}
}

func (m *turn) modes() []checkpoint.AsyncMode {
	if os.Getenv("CRAFT_TEST_SECONDS") != "" {
		return jobs.Modes
	}
	if m.cases++; testing.Short() && m.cases%3 > 0 {
		return nil
	}
	i := m.next % len(jobs.Modes)
	m.next++
	return jobs.Modes[i : i+1]
}

// TestRanksAreReplaced is non-shrinking recovery: to the same digits.
func TestRanksAreReplaced(t *testing.T) {
	want := newProgram(t).result(small("-ranks", "4")...)
	turn := newTurn(t)
	for _, c := range []struct {
		name       string
		flags      string
		recoveries int
	}{
		{"one", "-kill 2@137", 1},
		{"the first", "-kill 0@137", 1},
		{"before any checkpoint", "-kill 3@0", 1},
		{"two at once", "-kill 1@137,2@137", 1},
		{"one after the other", "-kill 1@59 -kill 3@137", 2},
		{"the replacement", "-kill 1@137,1@122", 2},
		{"the replacement, at its second step", "-kill 1@121,1@122", 2},
		{"all", "-kill 0@137,1@137,2@137,3@137", 1},
		{"a node", "-nodes 2 -kill-node 1@137", 1},
		{"a node, with a spare one", "-nodes 2 -spare-nodes 1 -kill-node 0@137", 1},
		{"a node and a rank", "-nodes 2 -spare-nodes 1 -kill-node 1@59 -kill 0@137 -spawn REUSE", 2},
		{"by the flag that kills the program", "-die-at 137", 1},
	} {
		for _, mode := range turn.modes() {
			t.Run(c.name+", "+string(mode), func(t *testing.T) {
				p := newProgram(t)
				args := on(append(strings.Fields(c.flags), "-async", string(mode))...)
				got := p.result(args...)
				require.Equal(t, want.Digest, got.Digest)
				require.Equal(t, want.Eigenvalues, got.Eigenvalues)
				require.Equal(t, 4, got.Ranks)
				if !strings.Contains(c.flags, "@137,1@137,2@137,3@137") { // nobody was left who knew
					require.GreaterOrEqual(t, got.Recoveries, 1)
					require.LessOrEqual(t, got.Recoveries, max(c.recoveries, strings.Count(c.flags, "@")))
					require.Equal(t, -1, got.RestartedFrom)
					require.Positive(t, got.Overheads.Recovery)
					require.Positive(t, got.Overheads.Recomputation)
				}
				if c.name == "one" { // rank 0 has survived, and knows how far it was
					records, err := filestore.Records(vfs.OS(), filepath.Join(p.Dir, "cp", "lanczos"))
					require.NoError(t, err)
					require.Positive(t, records[len(records)-1].Overheads.Recomputation)
				}
				again := p.result(args...)
				require.Equal(t, 300, again.RestartedFrom)
				require.Zero(t, again.Recoveries)
				left, err := filepath.Glob(filepath.Join(p.Dir, "cp", "*-killed-*"))
				require.NoError(t, err)
				require.Empty(t, left, "the deaths are over with the job")
			})
		}
	}
}

// TestTheJobShrinks: the others share the rows of those that were lost.
func TestTheJobShrinks(t *testing.T) {
	want := newProgram(t).result(small("-ranks", "4")...)
	turn := newTurn(t)
	for flags, ranks := range map[string]int{
		"-kill 2@137":                          3,
		"-kill 0@137":                          3,
		"-kill 0@137 -kill 1@150":              2,
		"-kill 1@59,0@100,3@137":               1,
		"-nodes 2 -kill-node 0@137":            2,
		"-nodes 2 -kill-node 1@59 -kill 0@137": 1,
	} {
		for _, mode := range turn.modes() {
			t.Run(flags+", "+string(mode), func(t *testing.T) {
				got := newProgram(t).result(on(append(strings.Fields(flags), "-recovery", "SHRINKING", "-async", string(mode))...)...)
				relative(t, want.Eigenvalues, got.Eigenvalues)
				require.Equal(t, ranks, got.Ranks)
				require.Equal(t, -1, got.RestartedFrom)
				require.Positive(t, got.Recoveries)
			})
		}
	}
}

// TestZeroCopyWithFailures has vectors that are large enough for it.
func TestZeroCopyWithFailures(t *testing.T) {
	args := strings.Fields("-nx 150 -ny 140 -disorder 0.3 -seed 4 -iters 60 -cp-freq 7 -cp-path cp")
	want := newProgram(t).result(append(args, "-ranks", "4")...)
	for _, mode := range []checkpoint.AsyncMode{checkpoint.AsyncCopy, checkpoint.AsyncZeroCopy} {
		p := newProgram(t)
		p.Env = []string{"CRAFT_ASYNC_CHECK=1"}
		got := p.result(append(args, "-np", "4", "-kill", "1@15,2@43", "-async", string(mode))...)
		require.Equal(t, want.Digest, got.Digest, mode)
		require.Equal(t, 2, got.Recoveries)
	}
}

// TestFreshWithFailures: a recovery takes up the checkpoints of this run, and not
// those that -fresh is to leave alone.
func TestFreshWithFailures(t *testing.T) {
	p := newProgram(t)
	want := p.result(on()...)
	for _, flags := range []string{"-kill 1@137", "-kill 0@0"} {
		s := p.Start(on(append(strings.Fields(flags), "-fresh", "-json")...)...).End(0)
		require.Contains(t, s.Stdout.String(), want.Digest)
		require.Contains(t, s.Stdout.String(), `"restarted_from":-1,"recoveries":1,`)
		next := "the next iteration is 0"
		if strings.HasSuffix(flags, "137") {
			next = "the next iteration is 121"
		}
		require.Contains(t, s.Stderr.String(), next)
	}
}

// TestSignalToProcesses: all ranks save and end, also those that have replaced others.
func TestSignalToProcesses(t *testing.T) {
	p := newProgram(t)
	endless := strings.Fields("-nx 20 -ny 20 -disorder 1 -iters 100000000 -cp-freq 90000000 -cp-path cp -np 3")
	s := p.Start(append(endless, "-kill", "1@3")...)
	p.Eventually(func() bool { return strings.Contains(s.Stderr.String(), "recovered") })
	require.NoError(t, s.Cmd.Process.Signal(syscall.SIGTERM))
	s.End(checkpoint.ExitRequeue)
	require.Equal(t, 1, strings.Count(s.Stderr.String(), "is stored; start it again"), "one of the ranks says it")
	require.Empty(t, s.Stdout.String())
	require.Positive(t, p.result(append(endless, "-iters", "1")...).RestartedFrom)
}

// TestErrorOfOneRank ends the job, is not repaired, and is told once.
func TestErrorOfOneRank(t *testing.T) {
	p := newProgram(t)
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "bad.mtx"), []byte("%%MatrixMarket matrix coordinate complex general\n1 1 0\n"), 0o666))
	s := p.Start("-mtx", "bad.mtx", "-np", "3").End(1)
	require.Equal(t, 1, strings.Count(s.Stderr.String(), "bad.mtx: line 1"), s.Stderr.String())
}

// TestLostDiagnostics of ranks are no failure of their job.
func TestLostDiagnostics(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no full device here: %v", err)
	}
	defer full.Close()
	p := newProgram(t)
	args := on("-kill", "1@100") // which is told on standard error
	require.NotEmpty(t, p.Start(args...).End(0).Stderr.String())
	s := newProgram(t).Command(args...)
	s.Cmd.Stderr = full
	require.NoError(t, s.Cmd.Start())
	s.End(0)
}

// TestTasksOfAnotherLauncher: srun starts it several times, and each would be a job.
func TestTasksOfAnotherLauncher(t *testing.T) {
	p := newProgram(t)
	p.Env = []string{"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=2", "SLURM_JOB_ID=7", "SLURM_STEP_ID=0"}
	for _, args := range [][]string{nil, {"-ranks", "2"}} {
		says := p.Start(small(args...)...).End(1).Stderr.String()
		require.Contains(t, says, "task 1 of 2 that srun has started")
		require.Contains(t, says, "craft run -n 2")
	}
	require.Contains(t, p.Start(on()...).End(2).Stderr.String(), "without srun")
	require.NoDirExists(t, filepath.Join(p.Dir, "cp"))
	p.Env = append(p.Env, "CRAFT_ENGINE=single")
	require.Equal(t, 16, p.result(small()...).VersionsWritten)
	require.Equal(t, 4, p.result(on()...).Ranks)
}
