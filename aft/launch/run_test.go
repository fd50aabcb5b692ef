package launch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testprocess"
	"github.com/craft-go/craft/internal/testtime"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/internal/env"
)

// limit is how long an event of a test may take.
const limit = 60 * time.Second

// job is a Config whose ranks are this test binary.
func job(t *testing.T, ranks, nodes int, program string, args ...string) Config {
	exe, err := os.Executable()
	require.NoError(t, err)
	return Config{Program: exe, Args: append([]string{program}, args...), Ranks: ranks, Nodes: nodes, NoSignals: true}
}

type result struct {
	code           int
	err            error
	stdout, stderr string
	log            string
}

func run(t *testing.T, cfg Config) result {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var out, errs bytes.Buffer
	var log lockedBuffer
	if cfg.Stdout == nil {
		cfg.Stdout = &out
	}
	cfg.Stderr = &errs
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	code, err := Run(ctx, cfg)
	require.NoError(t, ctx.Err(), "the job has hung\n%s\n%s\n%s", out.String(), errs.String(), log.String())
	return result{code, err, out.String(), errs.String(), log.String()}
}

func lineSet(text string) []string {
	out := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	slices.Sort(out)
	return out
}

func TestProgramsThatDoNotJoin(t *testing.T) {
	mark := testprocess.Mark(t)
	host, err := os.Hostname()
	require.NoError(t, err)
	began := time.Now()
	r := run(t, Config{Program: "hostname", Ranks: 8, Nodes: 4, NoSignals: true})
	t.Logf("start and end of 8 ranks on 4 nodes: %v", time.Since(began))
	require.NoError(t, r.err, r.log)
	require.Zero(t, r.code)
	require.Equal(t, strings.Repeat(host+"\n", 8), r.stdout)
	require.Empty(t, r.stderr)
	mark.NoneLeft(t)
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		codes string
		want  int
	}{{"0 0 0", 0}, {"0 3 0", 3}, {"2 77 5", 77}} {
		r := run(t, job(t, 3, 2, "exit", strings.Fields(c.codes)...))
		if c.want == 0 {
			require.NoError(t, r.err)
		} else {
			require.ErrorIs(t, r.err, ErrJob)
			require.ErrorContains(t, r.err, fmt.Sprintf("rank 1 (process 1 on node 0): exit status %d", c.want))
		}
		require.Equal(t, c.want, r.code, c.codes)
	}
}

func TestARankThatIsKilledAgainAndAgain(t *testing.T) {
	cfg := job(t, 2, 1, "die")
	r := run(t, cfg)
	require.ErrorIs(t, r.err, ErrJob)
	require.ErrorContains(t, r.err, "killed")
	require.NotZero(t, r.code)
	require.Contains(t, r.stdout, "last words\n", "what a rank has printed before it was killed arrives")
}

func TestOutput(t *testing.T) {
	const ranks, n = 4, 300
	cfg := job(t, ranks, 2, "print", fmt.Sprint(n))
	for _, tags := range []bool{false, true} {
		cfg.TagOutput = tags
		r := run(t, cfg)
		require.NoError(t, r.err)
		require.Zero(t, r.code)
		require.Len(t, lineSet(r.stdout), ranks*(n+1))
		for rank := range ranks {
			tag := ""
			if tags {
				tag = fmt.Sprintf("[%d] ", rank)
			}
			of := func(text string) string {
				return strings.Join(regexp.MustCompile(fmt.Sprintf(`(?m)^%srank %d .*\n`, regexp.QuoteMeta(tag), rank)).FindAllString(text, -1), "")
			}
			var out, errs strings.Builder
			for i := range n {
				fmt.Fprintf(&out, "%srank %d line %d\n", tag, rank, i)
				if i%10 == 0 {
					fmt.Fprintf(&errs, "%srank %d error %d\n", tag, rank, i)
				}
			}
			fmt.Fprintf(&out, "%srank %d ends\n", tag, rank)
			require.Equal(t, out.String(), of(r.stdout))
			require.Equal(t, errs.String(), of(r.stderr))
		}
	}
}

func TestSurroundings(t *testing.T) {
	cfg := job(t, 2, 2, "place")
	cfg.Dir = t.TempDir()
	cfg.Env = []string{"MINE=yes"}
	cfg.Policy = comm.Policy{Recovery: comm.Shrinking, Spawn: comm.Reuse}
	r := run(t, cfg)
	require.NoError(t, r.err, r.stderr)
	for node, line := range lineSet(r.stdout) {
		require.Regexp(t, fmt.Sprintf(`^node=%d hosts=1 address=\S+ dir=%s storage=%s/craft-\w+-node-%d mode=-rwx------ err=<nil> mine=yes policy=SHRINKING,REUSE keep=\S* gogc=\S* secret=32$`,
			node, regexp.QuoteMeta(cfg.Dir), regexp.QuoteMeta(strings.TrimSuffix(os.TempDir(), "/")), node), line)
	}
	storage := regexp.MustCompile(`storage=(\S+)`).FindStringSubmatch(r.stdout)[1]
	require.NoDirExists(t, storage)

	cfg.NodePath = filepath.Join(t.TempDir(), "deep", "storage")
	r = run(t, cfg)
	require.NoError(t, r.err, r.stderr)
	requireStorage := func(base string) {
		for node := range 2 {
			dir := filepath.Join(base, fmt.Sprintf("node-%d", node))
			require.Contains(t, r.stdout, "storage="+dir+" ")
			require.DirExists(t, dir, "what the user has named is kept")
		}
	}
	requireStorage(cfg.NodePath)

	cfg.NodePath = ""
	t.Setenv(env.NodePath, filepath.Join(t.TempDir(), "of the environment"))
	r = run(t, cfg)
	require.NoError(t, r.err, r.stderr)
	requireStorage(os.Getenv(env.NodePath))
}

// Where checkpoints are kept on the nodes, the next job has to find them.
func TestNodePathOfLevels(t *testing.T) {
	t.Setenv(env.NodePath, "")
	require.Empty(t, lastingNodePath())
	t.Setenv(env.Levels, "partner")
	require.Equal(t, env.DefaultNodePath(), lastingNodePath())
	t.Setenv(env.NodePath, "/mine")
	require.Equal(t, "/mine", lastingNodePath())
}

func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	require.NoError(t, os.WriteFile(plain, []byte("x"), 0o600))
	broken := filepath.Join(dir, "broken")
	require.NoError(t, os.WriteFile(broken, []byte("#!/nowhere/at/all\n"), 0o700))
	for name, c := range map[string]struct {
		change func(*Config)
		says   []string
		late   bool // found when the job runs
	}{
		"no ranks":          {func(c *Config) { c.Ranks = 0 }, []string{"-n 0", "at least 1"}, false},
		"negative":          {func(c *Config) { c.Ranks = -3 }, []string{"-n -3"}, false},
		"slots":             {func(c *Config) { c.Ranks, c.Nodes, c.Slots = 5, 2, 2 }, []string{"-n 5", "slots"}, false},
		"host slots":        {func(c *Config) { c.Ranks, c.Nodes, c.Hosts = 5, 0, []Host{{localhost, 4}} }, []string{"-n 5", "slots"}, false},
		"nodes":             {func(c *Config) { c.Nodes = -1 }, []string{"--nodes -1"}, false},
		"spares":            {func(c *Config) { c.SpareNodes = -1 }, []string{"--spare-nodes -1"}, false},
		"many spares":       {func(c *Config) { c.SpareNodes = math.MaxInt }, []string{"--spare-nodes 9", "at most"}, false},
		"all spare":         {func(c *Config) { c.Nodes, c.Hosts, c.SpareNodes = 0, []Host{{localhost, 0}}, 1 }, []string{"--spare-nodes 1"}, false},
		"nodes and hosts":   {func(c *Config) { c.Hosts = []Host{{localhost, 0}} }, []string{"--nodes"}, false},
		"agent without":     {func(c *Config) { c.Agent = []string{"ssh"} }, []string{"--launch-agent", "--hosts"}, false},
		"unknown agent":     {func(c *Config) { c.Nodes, c.Hosts, c.Agent = 0, []Host{{"a", 0}}, []string{"/no/agent"} }, []string{"--launch-agent", "/no/agent"}, false},
		"unknown program":   {func(c *Config) { c.Program = "./no-such-program" }, []string{"no-such-program", "no file"}, false},
		"not in PATH":       {func(c *Config) { c.Program = "no-such-program" }, []string{"no-such-program", "PATH"}, false},
		"forgotten ./":      {func(c *Config) { c.Program, c.Dir = "plain", dir }, []string{"./plain"}, false},
		"no program":        {func(c *Config) { c.Program = "" }, []string{"which program"}, false},
		"not executable":    {func(c *Config) { c.Program = plain }, []string{"plain", "permission"}, false},
		"a directory":       {func(c *Config) { c.Program = dir }, []string{dir}, false},
		"lease":             {func(c *Config) { c.Timing = Timing{Lease: time.Second, Period: time.Second} }, []string{"--lease", "--heartbeat"}, false},
		"tiny lease":        {func(c *Config) { c.Timing.Lease = time.Nanosecond }, []string{"--lease 1ns", "10ms"}, false},
		"tiny heartbeat":    {func(c *Config) { c.Timing.Period = time.Nanosecond }, []string{"--heartbeat 1ns", "1ms"}, false},
		"huge heartbeat":    {func(c *Config) { c.Timing.Period = 2000000 * time.Hour }, []string{"--heartbeat"}, false},
		"working directory": {func(c *Config) { c.Dir = filepath.Join(dir, "gone") }, []string{"working directory", "gone"}, true},
		"interpreter":       {func(c *Config) { c.Program = broken }, []string{"could not be started"}, true},
		"storage":           {func(c *Config) { c.NodePath = plain }, []string{"--node-path"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			mark := testprocess.Mark(t)
			cfg := job(t, 2, 2, "sleep")
			c.change(&cfg)
			testtime.Within(t, 5*time.Second, func() {
				r := run(t, cfg)
				require.Error(t, r.err)
				for _, text := range c.says {
					require.ErrorContains(t, r.err, text)
				}
				if c.late {
					require.ErrorIs(t, r.err, ErrJob)
				} else {
					require.ErrorIs(t, r.err, ErrConfig)
					require.Equal(t, 2, r.code)
				}
			})
			mark.NoneLeft(t)
		})
	}
}

func TestRepairTimeoutOfTheEnvironment(t *testing.T) {
	for _, bad := range []string{"soon", "-1s", ""} {
		t.Setenv(env.RepairTimeout, bad)
		r := run(t, job(t, 1, 1, "exit", "0"))
		require.ErrorIs(t, r.err, ErrConfig)
		require.ErrorContains(t, r.err, fmt.Sprintf("%s=%q", env.RepairTimeout, bad))
		require.ErrorContains(t, r.err, "90s or 15m")
	}
	for text, want := range map[string]time.Duration{"0": 0, "90s": 90 * time.Second} {
		t.Setenv(env.RepairTimeout, text)
		p, err := prepare(job(t, 1, 1, "exit", "0"))
		require.NoError(t, err)
		require.Equal(t, want, p.Timing.Repair)
	}
}

// TestSpareRanksOfNoUse: who asks for them with a policy that replaces nobody is told.
func TestSpareRanksOfNoUse(t *testing.T) {
	for _, recovery := range driver.RecoveryNames() {
		t.Setenv(env.RecoveryPolicy, string(recovery))
		for spares := range 2 {
			var log strings.Builder
			cfg := job(t, 1, 1, "exit", "0")
			cfg.SpareRanks, cfg.Logger = spares, slog.New(slog.NewTextHandler(&log, nil))
			_, err := prepare(cfg)
			require.NoError(t, err)
			idle := spares > 0 && (recovery == driver.Shrinking || recovery == driver.Abort)
			require.Equal(t, idle, strings.Contains(log.String(), "--spare-ranks"), "%s: %s", recovery, log.String())
		}
	}
}

func TestCancelledJob(t *testing.T) {
	mark := testprocess.Mark(t)
	ctx, cancel := context.WithCancel(t.Context())
	cfg := job(t, 4, 2, "sleep")
	out := newWatched()
	cfg.Stdout, cfg.Stderr = out, out
	go func() {
		out.await(t, `(?s)(is \d+.*){4}`)
		cancel()
	}()
	_, err := Run(ctx, cfg)
	require.ErrorIs(t, err, ErrJob)
	require.ErrorContains(t, err, "cancelled")
	mark.NoneLeft(t)
}

func TestSelf(t *testing.T) {
	code, started, err := Self(t.Context(), 0)
	require.NoError(t, err)
	require.False(t, started)
	require.Zero(t, code)

	code, started, err = Self(t.Context(), -2, func(c *Config) { c.NoSignals = true })
	require.ErrorIs(t, err, ErrConfig)
	require.True(t, started)
	require.Equal(t, 2, code)

	var out bytes.Buffer
	code, started, err = Self(t.Context(), 3, func(c *Config) {
		c.Args, c.Stdout, c.NoSignals = []string{"exit", "0", "4", "0"}, &out, true
	})
	require.ErrorContains(t, err, "exit status 4")
	require.True(t, started)
	require.Equal(t, 4, code)
}

// TestUnknownVariables: the launcher reports those that its ranks get, where it has
// no logger to the default one.
func TestUnknownVariables(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	code, _, err := Self(t.Context(), 2, func(c *Config) {
		c.Args, c.Stdout, c.NoSignals, c.Env = []string{"exit", "0", "0"}, io.Discard, true, []string{"CRAFT_LEASES=" + t.TempDir(), "CRAFT_KEEP=3"}
	})
	require.NoError(t, err)
	require.Zero(t, code)
	require.Equal(t, 1, strings.Count(log.String(), "unknown"), log.String())
	require.Contains(t, log.String(), "variable=CRAFT_LEASES nearest=CRAFT_LEVELS")
}

// TestDaemonByHand: a daemon that nobody gives a job says so.
func TestDaemonByHand(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "CRAFT_ROLE=daemon")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	require.Error(t, cmd.Run())
	require.Equal(t, 2, cmd.ProcessState.ExitCode())
	require.Contains(t, errs.String(), "craft run")
}

// TestNoJobWithinAJob: a program that forgets its role must not start itself
// again and again.
func TestNoJobWithinAJob(t *testing.T) {
	for role, says := range map[string]string{"daemon": "launch.Daemon", "rank": "launch.IsRank"} {
		t.Setenv("CRAFT_ROLE", role)
		r := run(t, job(t, 1, 0, "exit", "0"))
		require.ErrorIs(t, r.err, ErrConfig, role)
		require.ErrorContains(t, r.err, says)
		require.Equal(t, exitUsage, r.code)
	}
}

// TestBytesThatAreNotText: what the operating system takes reaches the ranks as it
// is, also where it is not UTF-8.
func TestBytesThatAreNotText(t *testing.T) {
	const odd = "a\xff\xc3(\xed\xa0\x80\ufffd"
	dir := filepath.Join(t.TempDir(), "dir"+odd)
	require.NoError(t, os.Mkdir(dir, 0o700))
	program := filepath.Join(dir, "program"+odd)
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"+`printf '%s|' "$0" "$1" "$2" "$MINE" "$CRAFT_CP_PATH" "$CRAFT_NODE_PATH"; pwd`+"\n"), 0o700))
	t.Setenv("CRAFT_CP_PATH", odd)
	r := run(t, Config{
		Program: program, Args: []string{odd, "\x80"}, Env: []string{"MINE=" + odd}, Dir: dir,
		NodePath: filepath.Join(dir, "storage"), Ranks: 1, NoSignals: true,
	})
	require.NoError(t, r.err, r.log)
	require.Equal(t, strings.Join([]string{program, odd, "\x80", odd, odd, filepath.Join(dir, "storage", "node-0"), dir + "\n"}, "|"), r.stdout)
}

// TestLostOutput is told when it happens, and is an error in the end; results are more than
// diagnostics.
func TestLostOutput(t *testing.T) {
	for stream, want := range map[string]int{"standard output": exitFailed, "standard error": exitOK} {
		var log lockedBuffer
		cfg := job(t, 2, 1, "print", "30")
		cfg.Stdout, cfg.Stderr, cfg.Logger = io.Discard, io.Discard, slog.New(slog.NewTextHandler(&log, nil))
		if stream == "standard output" {
			cfg.Stdout = brokenWriter{}
		} else {
			cfg.Stderr = brokenWriter{}
		}
		code, err := Run(t.Context(), cfg)
		require.Equal(t, want, code, stream)
		require.ErrorIs(t, err, ErrOutput)
		require.ErrorIs(t, err, errBroken)
		require.ErrorContains(t, err, stream+": broken")
		require.Equal(t, 1, strings.Count(log.String(), `error="`+stream+`: broken"`), log.String())
	}
}
