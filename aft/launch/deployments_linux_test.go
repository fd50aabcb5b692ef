package launch

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/internal/testprocess"
)

// fated is a job of that program, with the policy ABORT.
func fated(t *testing.T, ranks, nodes, restarts int, fates ...string) Config {
	cfg := job(t, ranks, nodes, "fated", fates...)
	cfg.Policy.Recovery, cfg.Restarts = comm.Abort, restarts
	return cfg
}

// deploymentsOf are the ranks of each deployment with their nodes, as they have said it, in order.
func deploymentsOf(t *testing.T, stdout string) (all []string) {
	for _, m := range regexp.MustCompile(`deployment (\d+), epoch (\d+): rank (\d+) on node (\d+)`).FindAllStringSubmatch(stdout, -1) {
		d := number(t, m[1])
		require.Equal(t, m[1], m[2])
		require.LessOrEqual(t, len(all)-1, d, "the output of a deployment comes after that of the ones before:\n%s", stdout)
		for len(all) <= d {
			all = append(all, strings.Repeat("-", 4))
		}
		places := []byte(all[d])
		places[number(t, m[3])] = m[4][0]
		all[d] = string(places)
	}
	return all
}

func TestDeployedAgain(t *testing.T) {
	mark := testprocess.Mark(t)
	r := run(t, fated(t, 4, 2, 3, "kill:2", "kill:2", "end"))
	require.NoError(t, r.err, r.log)
	require.Zero(t, r.code)
	places := deploymentsOf(t, r.stdout)
	require.Len(t, places, 3)
	require.Equal(t, "0011", places[2])
	require.Equal(t, 2, strings.Count(r.stdout, "last words\n"))
	require.Contains(t, r.log, `msg="restart 1 of 3: rank 2 on node 1: signal: killed; deployed again on nodes 0, 1"`)
	require.Contains(t, r.log, `msg="restart 2 of 3: rank 2 on node 1: signal: killed; deployed again on nodes 0, 1"`)
	require.NotContains(t, r.log, "restart 3")
	mark.NoneLeft(t)
}

// stalled is a reader of output that does not read for a while.
type stalled struct {
	*watched
	reads chan struct{} // closed when it does
}

func (s *stalled) Write(p []byte) (int, error) {
	<-s.reads
	return s.watched.Write(p)
}

// TestDeployedAgainWhileNobodyReads: a terminal that is stopped holds up no restart.
func TestDeployedAgainWhileNobodyReads(t *testing.T) {
	mark := testprocess.Mark(t)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	reader, log := &stalled{watched: newWatched(), reads: make(chan struct{})}, newWatched()
	cfg := fated(t, 2, 1, 3, "kill:1", "flood:1", "end")
	cfg.Stdout, cfg.Stderr, cfg.Logger = reader, log, slog.New(slog.NewTextHandler(log, nil))
	ended := make(chan error, 1)
	go func() {
		_, err := Run(ctx, cfg)
		ended <- err
	}()
	log.await(t, "restart 2 of 3")
	close(reader.reads)
	require.NoError(t, <-ended, log)
	require.Len(t, deploymentsOf(t, reader.String()), 3)
	seen := 0
	for line := range strings.Lines(reader.String()) {
		if strings.HasPrefix(line, "000") {
			require.Equal(t, fmt.Sprintf("%01023d\n", seen), line)
			seen++
		}
	}
	require.Equal(t, floodOfFate, seen)
	mark.NoneLeft(t)
}

// TestDeployedAgainWhileNobodyReadsTheLog: that holds up no restart either.
func TestDeployedAgainWhileNobodyReadsTheLog(t *testing.T) {
	mark := testprocess.Mark(t)
	out, log := newWatched(), &stalled{watched: newWatched(), reads: make(chan struct{})}
	cfg := fated(t, 2, 1, 3, "kill:1", "end")
	cfg.Stdout, cfg.Logger = out, slog.New(slog.NewTextHandler(log, nil))
	ended := make(chan error, 1)
	go func() {
		_, err := Run(t.Context(), cfg)
		ended <- err
	}()
	out.await(t, "deployment 1, ")
	close(log.reads)
	require.NoError(t, <-ended)
	require.Contains(t, log.String(), "restart 1 of 3", "all is written at the end")
	mark.NoneLeft(t)
}

// TestFourthInterruptWhileNobodyReadsTheLog: nor does it hold up who has asked four times.
func TestFourthInterruptWhileNobodyReadsTheLog(t *testing.T) {
	mark := testprocess.Mark(t)
	log := &stalled{watched: newWatched(), reads: make(chan struct{})}
	defer close(log.reads)
	cfg := fated(t, 2, 1, 0, "kill:1")
	cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	p, err := prepare(cfg)
	require.NoError(t, err)
	d, err := newDeployments(p)
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		_, _, _ = d.run(t.Context())
		close(ended)
	}()
	<-d.root.ended
	d.root.mu.Lock()
	d.root.kills.times = 3
	d.root.mu.Unlock()
	d.signal(syscall.SIGINT)
	select {
	case <-ended:
		require.ErrorIs(t, d.lost, ErrAbandoned)
	case <-time.After(limit / 4):
		require.FailNow(t, "it waits for a reader")
	}
	mark.NoneLeft(t)
}

// goneReader is a reader of output that does not read for a while, and then ends.
type goneReader chan struct{}

func (r goneReader) Write([]byte) (int, error) {
	<-r
	return 0, syscall.EPIPE
}

// TestReaderThatEndsBeforeTheNextDeployment: that is not begun, and nobody waits until it was due.
func TestReaderThatEndsBeforeTheNextDeployment(t *testing.T) {
	mark := testprocess.Mark(t)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	reader, log := make(goneReader), newWatched()
	cfg := fated(t, 2, 1, 3, "kill:1", "end")
	cfg.Stdout, cfg.Logger, cfg.RestartDelay, cfg.NoSignals = reader, slog.New(slog.NewTextHandler(log, nil)), time.Hour, false
	p, err := prepare(cfg)
	require.NoError(t, err)
	d, err := newDeployments(p)
	require.NoError(t, err)
	go func() {
		log.await(t, "restart 1 of 3.* in 1h")
		close(reader)
	}()
	code, report, err := d.run(ctx)
	require.NoError(t, err)
	require.Equal(t, 141, code)
	require.Contains(t, report, "nobody reads the output of the ranks any more (broken pipe): the job is not deployed again\nthe job is aborted")
	require.ErrorIs(t, d.lost, syscall.EPIPE)
	require.NoError(t, ctx.Err(), "it has waited until it was due")
	mark.NoneLeft(t)
}

func TestRestartsAreUsedUp(t *testing.T) {
	r := run(t, fated(t, 2, 1, 2, "kill:1"))
	require.ErrorIs(t, r.err, ErrJob)
	require.Equal(t, 137, r.code)
	require.Len(t, deploymentsOf(t, r.stdout), 3)
	require.Equal(t, `the job is aborted (recovery policy ABORT)
rank 1 on node 0: signal: killed
the job has failed in all 3 deployments (--restarts 2):
  1. rank 1 on node 0: signal: killed
  2. rank 1 on node 0: signal: killed
  3. rank 1 on node 0: signal: killed`, r.err.Error())
}

// TestTheSamePlaceAgainAndAgain ends the job before its restarts are used up.
func TestTheSamePlaceAgainAndAgain(t *testing.T) {
	cfg := fated(t, 2, 1, 100, "kill:1")
	cfg.Repeats = 1 // three times as often where no steps are reported
	r := run(t, cfg)
	require.Equal(t, 137, r.code)
	require.Len(t, deploymentsOf(t, r.stdout), 3)
	require.ErrorContains(t, r.err, "the job has failed 3 times in a row without reporting a step (Zone.Step): it is not deployed again (--max-repeats):\n  1. rank 1 on")

	r = run(t, fated(t, 2, 1, 100, "step:1", "step:0", "step:1"))
	require.Len(t, deploymentsOf(t, r.stdout), 3)
	require.ErrorContains(t, r.err, `the job has failed 3 times in a row without getting beyond step 42: it is not deployed again (--max-repeats):
  1. rank 1 on node 0: signal: killed after step 42
  2. rank 0 on node 0: signal: killed after step 42
  3. rank 1 on node 0: signal: killed after step 42`)
}

// TestWhatIsNoReasonToDeployAgain: the code is that of the job, and nothing more is said.
func TestWhatIsNoReasonToDeployAgain(t *testing.T) {
	for fate, code := range map[string]int{"2:1": 2, "75:1": 75} {
		r := run(t, fated(t, 2, 1, 3, fate))
		require.Equal(t, code, r.code)
		require.NotContains(t, r.log, "restart")
	}
	r := run(t, fated(t, 2, 1, 3, "1:1", "end"))
	require.NoError(t, r.err, "an exit in the middle is a failure")
	cfg := job(t, 2, 1, "exit", "1", "0") // that of a program without zones is its own
	cfg.Policy.Recovery, cfg.Restarts = comm.Abort, 3
	r = run(t, cfg)
	require.Equal(t, 1, r.code)
	require.NotContains(t, r.log, "restart")
}

// TestNodeKilledAndDeployedAgain: a spare node takes its place if there is one, and else the others
// have more ranks.
func TestNodeKilledAndDeployedAgain(t *testing.T) {
	for spare, want := range map[int]string{0: "0000", 1: "0022"} {
		mark := testprocess.Mark(t)
		cfg := fated(t, 4, 2, 1, "node:2", "end")
		cfg.SpareNodes = spare
		r := run(t, cfg)
		require.NoError(t, r.err, r.log)
		require.Equal(t, want, deploymentsOf(t, r.stdout)[1])
		if spare == 0 {
			require.Contains(t, r.log, "deployed again on node 0, 1 fewer than at the start")
		} else {
			require.Contains(t, r.log, "deployed again on nodes 0, 2")
		}
		mark.NoneLeft(t)
	}
	r := run(t, fated(t, 4, 1, 3, "node:2"))
	require.ErrorContains(t, r.err, "no node is left to deploy the job on")
}

// TestRecoveryThatGivesUp is followed by another deployment, too.
func TestRecoveryThatGivesUp(t *testing.T) {
	cfg := fated(t, 2, 1, 1, "kill:0", "end")
	cfg.Policy.Recovery = comm.Shrinking
	cfg.Ranks = 1
	r := run(t, cfg)
	require.NoError(t, r.err, r.log)
	require.Contains(t, r.log, "restart 1 of 1: rank 0 on node 0: signal: killed (no rank is left to go on with (recovery policy SHRINKING))")
}

// fatedRoot is a root of its own, which gets signals.
func fatedRoot(t *testing.T, cfg Config) (send func(syscall.Signal), out *watched, code func() int) {
	t.Setenv(logVariable, "1")
	cfg.NoSignals = false
	root, out := startRoot(t, cfg)
	return func(s syscall.Signal) { require.NoError(t, root.Process.Signal(s)) }, out, func() int {
		_ = root.Wait() // its code tells
		return root.ProcessState.ExitCode()
	}
}

func TestInterruptBetweenDeployments(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		mark := testprocess.Mark(t)
		cfg := fated(t, 2, 1, 3, "kill:1")
		cfg.RestartDelay = time.Hour
		send, out, code := fatedRoot(t, cfg)
		out.await(t, "restart 1 of 3")
		send(s)
		require.Equal(t, 128+int(s), code())
		require.Contains(t, out.String(), s.String()+" before the job was deployed again\nthe job is aborted")
		mark.NoneLeft(t)
	}
}

// TestCancelledBetweenDeployments: so it is by its context.
func TestCancelledBetweenDeployments(t *testing.T) {
	cfg := fated(t, 2, 1, 3, "kill:1")
	cfg.RestartDelay = time.Hour
	log := newWatched()
	cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	cfg.Stdout, cfg.Stderr = new(bytes.Buffer), new(bytes.Buffer)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { _, err := Run(ctx, cfg); ended <- err }()
	log.await(t, "restart 1 of 3")
	cancel()
	require.ErrorContains(t, <-ended, "the job was cancelled before it was deployed again")
}

// TestSignalAfterARestart reaches the ranks, and nothing is deployed after it.
func TestSignalAfterARestart(t *testing.T) {
	mark := testprocess.Mark(t)
	send, out, code := fatedRoot(t, fated(t, 2, 1, 3, "kill:1", "signal"))
	out.await(t, "(?s)(waits for a signal.*){2}")
	send(syscall.SIGTERM)
	require.Equal(t, 7, code(), "%v", out)
	require.NotContains(t, out.String(), "restart 2")
	mark.NoneLeft(t)
}

// TestHostThatIsNotThereAgain: who cannot be started a second time is left out.
func TestHostThatIsNotThereAgain(t *testing.T) {
	once := filepath.Join(t.TempDir(), "once")
	agent := script(t, `if [ "$1" = beta ]; then if [ -e `+once+` ]; then echo no route >&2; exit 255; fi; : > `+once+`; fi; shift; exec "$@"`)
	cfg := onHosts(t, []string{agent}, 3, "fated", "kill:0", "end")
	cfg.Hosts = []Host{{"alpha", 0}, {"beta", 0}, {"gamma", 0}}
	cfg.Policy.Recovery, cfg.Restarts = comm.Abort, 1
	r := run(t, cfg)
	require.NoError(t, r.err, r.log)
	require.Regexp(t, `msg="a node could not be started again: the job does without it" node=beta reason=".*no route"`, r.log)
	require.Contains(t, r.log, `msg="the job is deployed again on fewer nodes" ranks=3 nodes=2`)
	require.Contains(t, []string{"002-", "022-"}, deploymentsOf(t, r.stdout)[1])
}

// TestHostThatCannotBeSeen: its ranks may run until its lease has ended, and before that no other ones
// are started; the host is left out.
func TestHostThatCannotBeSeen(t *testing.T) {
	mark := testprocess.Mark(t)
	dir := t.TempDir()
	// The daemon of beta is elsewhere for who kills the agent: it notices nothing but silence.
	agent := script(t, `host=$1; shift; [ $host = beta ] || exec "$@"
cd `+dir+` && mkfifo in && echo $$ > agent
setsid sh -c 'exec sleep 1000 > in' &
setsid "$@" < in &
exec cat > in`)
	cfg := onHosts(t, []string{agent}, 2, "fated", "agent:0", "end")
	cfg.Hosts, cfg.Env = []Host{{"alpha", 0}, {"beta", 0}}, []string{fateVariable + "=" + dir}
	cfg.Policy.Recovery, cfg.Restarts, cfg.Timing.Lease = comm.Abort, 1, time.Second
	r := run(t, cfg)
	require.NoError(t, r.err, r.log)
	require.Contains(t, r.log, "deployed again on node alpha, 1 fewer than at the start")
	require.Equal(t, "00--", deploymentsOf(t, r.stdout)[1])
	ranks := func() bool {
		return slices.ContainsFunc(mark.Processes(t), func(p testprocess.Process) bool { return p.Variable(env.Role) == env.RoleRank })
	}
	require.Eventually(t, func() bool { return !ranks() }, limit, time.Millisecond)
	last := beaten(dir)
	require.NotZero(t, last)
	for _, m := range regexp.MustCompile(`deployment 1,.* began (\d+)`).FindAllStringSubmatch(r.stdout, -1) {
		require.Less(t, last, int64(number(t, m[1])), "the rank of beta still ran")
	}
	for _, p := range mark.Processes(t) { // what keeps the pipe open
		_ = syscall.Kill(p.PID, syscall.SIGKILL)
	}
	mark.NoneLeft(t)
}

// TestAgentWithACodeOfItsOwn: what that says of the daemon is not known, so its lease has to end; but
// the host is there.
func TestAgentWithACodeOfItsOwn(t *testing.T) {
	cfg := onHosts(t, []string{script(t, `shift; "$@"; exit 3`)}, 2, "fated", "later:0", "end")
	cfg.Hosts = []Host{{"alpha", 0}, {"beta", 0}}
	cfg.Policy.Recovery, cfg.Restarts, cfg.Timing.Lease, cfg.Timing.Start = comm.Abort, 1, time.Second, 10*time.Second
	began := time.Now()
	r := run(t, cfg)
	require.NoError(t, r.err, r.log)
	require.Equal(t, "01--", deploymentsOf(t, r.stdout)[1])
	require.Greater(t, time.Since(began), cfg.Timing.Lease)
}

// TestLinesOfTwoDeployments: an unfinished line of one is finished before those of the next.
func TestLinesOfTwoDeployments(t *testing.T) {
	cfg := Config{Program: "sh", Args: []string{"-c", `printf "deployment $CRAFT_RESTART"; test $CRAFT_RESTART = 1 || kill -9 $$`}, Ranks: 1, NoSignals: true, Restarts: 1}
	cfg.Policy.Recovery = comm.Abort
	r := run(t, cfg)
	require.NoError(t, r.err)
	require.Equal(t, "deployment 0\ndeployment 1\n", r.stdout)
}

// TestNothingIsLeftOfManyDeployments: neither processes nor files nor descriptors.
func TestNothingIsLeftOfManyDeployments(t *testing.T) {
	const restarts = 20
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	mark := testprocess.Mark(t)
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(entries)
	}
	run(t, fated(t, 2, 1, 0, "end")) // what is opened once is
	before, goroutines := open(), runtime.NumGoroutine()
	cfg := fated(t, 2, 2, restarts, "kill:1")
	cfg.Repeats = restarts
	r := run(t, cfg)
	require.ErrorContains(t, r.err, fmt.Sprintf("the job has failed in all %d deployments", restarts+1))
	require.Len(t, deploymentsOf(t, r.stdout), restarts+1)
	require.Eventually(t, func() bool { return open() <= before && runtime.NumGoroutine() <= goroutines+1 }, limit, time.Millisecond) // that of Eventually
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, left)
	mark.NoneLeft(t)
}

func TestRefusedRestarts(t *testing.T) {
	for text, change := range map[string]func(*Config){
		"--restarts -1":      func(c *Config) { c.Restarts = -1 },
		"--restart-delay -1": func(c *Config) { c.Restarts, c.RestartDelay = 1, -time.Second },
		"needs --restarts":   func(c *Config) { c.RestartDelay = time.Second },
	} {
		cfg := fated(t, 1, 1, 0, "end")
		change(&cfg)
		r := run(t, cfg)
		require.ErrorIs(t, r.err, ErrConfig)
		require.ErrorContains(t, r.err, text)
		require.Equal(t, 2, r.code)
	}
}
