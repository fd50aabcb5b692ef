package checkpoint

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testprocess"
	"github.com/craft-go/craft/internal/testprogram"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/filestore"
)

// endingGrace is what the jobs have for their end: on a loaded machine a version takes long.
func endingGrace() string { return cmp.Or(os.Getenv("CRAFT_TEST_GRACE"), "60s") }

// TestJobsEndAtAnyMoment has jobs of all kinds get signals at any moment: each ends with 75 and a version of the
// agreed step, or has finished, goes on from there, and comes to the digest of an undisturbed run.
//
//	CRAFT_TEST_SECONDS  how long it goes on (2)
//	CRAFT_TEST_ROUNDS   at least so many jobs (1)
//	CRAFT_TEST_GRACE    that of the jobs (60s)
//	CRAFT_TEST_SEED     replays the choices (not the machine's timing)
func TestJobsEndAtAnyMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some 10 seconds")
	}
	e := &endingSuite{t: t, rand: testseed.Rand(t), mark: testprocess.Mark(t)}
	until := time.Now().Add(time.Duration(testseed.Number(t, "CRAFT_TEST_SECONDS", 2)) * time.Second)
	for e.jobs < testseed.Number(t, "CRAFT_TEST_ROUNDS", 1) || time.Now().Before(until) {
		e.job()
	}
	t.Logf("%d jobs with %d starts, %d ended, %d killed ranks", e.jobs, e.starts, e.ended, e.kills)
}

type endingSuite struct {
	t                          *testing.T
	rand                       *rand.Rand
	mark                       testprocess.Marked
	jobs, starts, ended, kills int
}

func (e *endingSuite) newJob() endingJob {
	rng := e.rand
	j := endingJob{
		Dir: e.t.TempDir(), Steps: 40 + rng.IntN(200), Step: time.Millisecond, Talk: rng.IntN(2) == 0,
		Cells: oneOf(rng, 10, 1000, 100_000), Mode: oneOf(rng, allModes...), Every: oneOf(rng, 1, 7, 1000), Nodes: 1,
		Skew: oneOf(rng, 0, 0, time.Millisecond), Grow: oneOf(rng, 0, 0, 100),
	}
	switch rng.IntN(3) {
	case 1:
		j.Goroutines = 1 + rng.IntN(8)
	case 2:
		j.Processes = 1 + rng.IntN(8)
	}
	if j.Grow > 0 {
		j.Steps = 24
	}
	switch rng.IntN(10) {
	case 0:
		j.Steps, j.Step, j.Grow = 6, 500*time.Millisecond, 0
	case 1:
		j.Steps, j.Step, j.Grow = 3, 2*time.Second, 0
	}
	if j.Save = oneOf(rng, 0, 0, 0, time.Second); j.Save > 0 && j.Every == 1 {
		j.Every = 1000
	}
	if j.Nodes = 1 + rng.IntN(j.ranks()); rng.IntN(2) == 0 {
		j.Levels = oneOf(rng, "local:1,pfs:1000", "mem:1,pfs:1000", "partner:2,local:1,pfs:5", "local:1,xor:2,pfs:1000")
	}
	return j
}

func (e *endingSuite) job() {
	j := e.newJob()
	e.jobs++
	kill := j.Processes > 1 && e.rand.IntN(3) == 0
	var log []string
	fail := func(format string, args ...any) {
		require.FailNow(e.t, fmt.Sprintf(format, args...), "%+v\n%s", j, strings.Join(log, "\n"))
	}
	next, atLeast := 0, false // iteration
	fruitless := 0            // starts in a row
	for start := range 30 {
		disturb := start < 6
		s := e.start(j)
		what := "nobody"
		if disturb {
			what = e.signal(j, s, kill)
		}
		code := e.wait(s, fail)
		log = append(log, fmt.Sprintf("--- start %d, signals to %s, code %d\n%s%s", start, what, code, s.stdout.String(), s.stderr.String()))
		e.mark.NoneLeft(e.t)
		if got, begun := saysBegins.find(s.stderr.String()); begun {
			if got < next || got > next && !atLeast {
				fail("it begins with iteration %d, not with %d", got, next)
			}
			if got > next {
				next, fruitless = got, 0
			}
		}
		lost := saysLost.MatchString(s.stderr.String())
		switch {
		case code == 75 && disturb && lost: // its launcher does not know what is stored, and on the nodes it may be alone
			e.ended++
			atLeast = true
			fruitless++
			continue
		case code == 1 && lost && fruitless+1 >= tooManyStarts:
			return
		case code == 75 && disturb:
			e.ended++
			before := next
			if next, atLeast = e.goesOnWith(s, fail), false; next > before {
				fruitless = 0
			} else {
				fruitless++
			}
			if j.Levels != "" {
				require.NoError(e.t, os.RemoveAll(filepath.Join(j.Dir, "nodes")))
			}
			continue
		case code != 0:
			fail("exit code %d", code)
		}
		// Once more after each repair, if a rank was killed that late.
		got := strings.Fields(strings.ReplaceAll(s.stdout.String(), "digest ", ""))
		if slices.Sort(got); len(slices.Compact(got)) != 1 || got[0] != j.expected() {
			fail("results %q, expected %q", got, j.expected())
		}
		return
	}
	fail("it does not come to an end")
}

// said is a text with a number that a start has printed.
type said struct{ *regexp.Regexp }

var (
	saysBegins = said{regexp.MustCompile(`begins with iteration (\d+)`)}
	saysLost   = regexp.MustCompile(`has lost .*; a restart goes on from the newest version that is stored`)
	saysStored = said{regexp.MustCompile(`version (?:is )?\d+, of iteration (\d+)`)}
)

// find is the number the first time: all ranks say the same, and repairs may follow.
func (s said) find(text string) (n int, found bool) {
	m := s.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n, _ = strconv.Atoi(m[1])
	return n, true
}

// goesOnWith is the iteration that the next start begins with, as this one has said in its end.
func (e *endingSuite) goesOnWith(s *endingStart, fail func(string, ...any)) int {
	text := s.stderr.String()
	iter, is := saysStored.find(text)
	switch {
	case strings.Contains(text, "not on the parallel file system"):
		fail("the last version is not safe")
	case !is && !strings.Contains(text, "nothing is stored"):
		fail("it does not say what is stored")
	case !is:
		return 0
	}
	return iter + 1
}

type endingStart struct {
	cmd            *exec.Cmd
	stdout, stderr testprogram.Output
	ended          chan error
}

func (e *endingSuite) start(j endingJob) *endingStart {
	arg, err := json.Marshal(j)
	require.NoError(e.t, err)
	s := &endingStart{cmd: exec.Command(os.Args[0], string(arg)), ended: make(chan error, 1)}
	s.cmd.Env = append(os.Environ(), childVariable+"="+endingScenario, "GORACE=atexit_sleep_ms=10", "CRAFT_GRACE="+endingGrace())
	s.cmd.Stdout, s.cmd.Stderr = &s.stdout, &s.stderr
	require.NoError(e.t, s.cmd.Start())
	e.starts++
	go func() { s.ended <- s.cmd.Wait() }()
	return s
}

// signal disturbs a job at some moment after all its processes listen.
func (e *endingSuite) signal(j endingJob, s *endingStart, kill bool) (what string) {
	rng := e.rand
	if !e.until(s, func() bool { return strings.Count(s.stderr.String(), "listening") >= max(1, j.Processes) }) {
		return "nobody: it had ended"
	}
	moment := time.Duration(rng.Int64N(int64(250 * time.Millisecond)))
	if rng.IntN(4) == 0 {
		moment /= 50
	}
	if !e.until(s, func() bool { moment -= time.Millisecond; return moment <= 0 }) {
		return "nobody: it had ended"
	}
	ranks := e.ranks()
	all := []int{s.cmd.Process.Pid}
	for _, p := range e.mark.Processes(e.t) {
		all = append(all, p.PID)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	number := oneOf(rng, syscall.SIGTERM, syscall.SIGTERM, syscall.SIGUSR2)
	send := func(pids ...int) {
		for _, pid := range pids {
			_ = syscall.Kill(pid, number)
		}
	}
	switch rng.IntN(4) {
	case 0:
		what = "the root"
		send(s.cmd.Process.Pid)
	case 1:
		what = "all processes"
		rng.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
		send(all...)
	case 2:
		what = "one rank"
		if len(ranks) == 0 {
			ranks = []int{s.cmd.Process.Pid}
		}
		send(ranks[rng.IntN(len(ranks))])
	default:
		what = "root and all ranks twice"
		send(s.cmd.Process.Pid)
		send(ranks...)
		send(s.cmd.Process.Pid)
		send(ranks...)
	}
	what = fmt.Sprintf("%s (%v)", what, number)
	if kill && len(ranks) > 1 {
		e.kills++
		what += ", a rank killed"
		_ = syscall.Kill(ranks[rng.IntN(len(ranks))], syscall.SIGKILL)
	}
	return what
}

// ranks are the processes of the ranks.
func (e *endingSuite) ranks() (out []int) {
	for _, n := range e.mark.Nodes(e.t, nil) {
		out = append(out, n.Ranks...)
	}
	return out
}

// until waits in steps of a millisecond; false: the process has ended.
func (e *endingSuite) until(s *endingStart, is func() bool) bool {
	for limit := time.Now().Add(2 * time.Minute); time.Now().Before(limit); time.Sleep(time.Millisecond) {
		select {
		case err := <-s.ended:
			s.ended <- err
			return false
		default:
		}
		if is() {
			return true
		}
	}
	require.FailNow(e.t, "waiting for a job", s.stderr.String())
	return false
}

func (e *endingSuite) wait(s *endingStart, fail func(string, ...any)) int {
	select {
	case err := <-s.ended:
		var exit *exec.ExitError
		switch {
		case err == nil:
			return 0
		case errors.As(err, &exit):
			if status := exit.Sys().(syscall.WaitStatus); status.Signaled() {
				return 128 + int(status.Signal())
			}
			return exit.ExitCode()
		}
		fail("%v", err)
	case <-time.After(3 * time.Minute):
		_ = s.cmd.Process.Signal(syscall.SIGQUIT)
		time.Sleep(2 * time.Second)
		_ = s.cmd.Process.Kill()
		fail("it hangs:\n%s", s.stderr.String())
	}
	return -1
}

// TestEndOfABusyProgram: one that leaves no processor to anybody else hears of the end, saves, and ends in its grace.
func TestEndOfABusyProgram(t *testing.T) {
	e := &endingSuite{t: t, mark: testprocess.Mark(t)}
	fail := func(format string, args ...any) { require.FailNow(t, fmt.Sprintf(format, args...)) }
	for _, j := range []endingJob{{Mode: AsyncOff}, {Mode: AsyncCopy, Goroutines: 2}, {Mode: AsyncOff, Processes: 2}} {
		j.Dir, j.Steps, j.Step, j.Cells, j.Every, j.Nodes, j.Spin = t.TempDir(), 1<<30, time.Millisecond, 1000, 1000, 1, true
		s := e.start(j)
		require.True(t, e.until(s, func() bool { return strings.Contains(s.stderr.String(), "begins with iteration") }), &s.stderr)
		grace, err := time.ParseDuration(endingGrace())
		require.NoError(t, err)
		asked := time.Now()
		require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
		require.Equal(t, 75, e.wait(s, fail), &s.stderr)
		require.Less(t, time.Since(asked), grace)
		next := e.goesOnWith(s, fail)
		j.Steps, j.Spin = next+3, false
		s = e.start(j)
		require.Zero(t, e.wait(s, fail), &s.stderr)
		begun, _ := saysBegins.find(s.stderr.String())
		require.Equal(t, next, begun)
		require.Equal(t, "digest "+j.expected()+"\n", s.stdout.String())
		e.mark.NoneLeft(t)
	}
}

// TestSignalsOfAProcessThatLeads are its launcher's alone: OnSignal ends it by no second Ctrl-C.
func TestSignalsOfAProcessThatLeads(t *testing.T) {
	e := &endingSuite{t: t, mark: testprocess.Mark(t)}
	j := endingJob{Dir: t.TempDir(), Processes: 2, Steps: 2, Step: 4 * time.Second, Cells: 10, Mode: AsyncOff, Every: 1, Nodes: 1}
	s := e.start(j)
	require.True(t, e.until(s, func() bool { return strings.Contains(s.stderr.String(), "begins with iteration") }), &s.stderr)
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGINT))
	time.Sleep(impatience + 100*time.Millisecond) // else it would be the same request
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGINT))
	e.wait(s, func(format string, args ...any) { t.Fatalf(format, args...) })
	status := s.cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.False(t, status.Signaled(), "%v\n%s", status.Signal(), s.stderr.String())
	require.Equal(t, ExitInterrupt, status.ExitStatus(), s.stderr.String())
	e.mark.NoneLeft(t)
}

// TestStartsThatAreKilledInAStep: steps that are longer than the grace are no endless requeue, though no rank comes to a call
// that could say so.
func TestStartsThatAreKilledInAStep(t *testing.T) {
	t.Setenv("CRAFT_TEST_GRACE", "100ms")
	for _, j := range []endingJob{{Mode: AsyncOff}, {Mode: AsyncCopy, Processes: 2}} {
		e := &endingSuite{t: t, mark: testprocess.Mark(t)}
		j.Dir, j.Steps, j.Step, j.Cells, j.Every, j.Nodes = t.TempDir(), 10, time.Hour, 1000, 1, 1
		for start := range tooManyStarts {
			s := e.start(j)
			require.True(t, e.until(s, func() bool { return strings.Contains(s.stderr.String(), "begins with iteration 0") }), &s.stderr)
			require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
			require.True(t, e.until(s, func() bool { return strings.Contains(s.stderr.String(), "the time to save is over") }), &s.stderr)
			require.True(t, e.until(s, func() bool {
				runs, err := filestore.Records(vfs.OS(), filepath.Join(j.Dir, "home", "ending"))
				return err == nil && len(runs) == start+1 && runs[start].End != "" && runs[start].Ended == nil
			}), &s.stderr)
			require.NoError(t, s.cmd.Process.Kill())
			<-s.ended
			e.mark.NoneLeft(t)
		}
		s := e.start(j)
		require.Equal(t, ExitFailed, e.wait(s, t.Fatalf), &s.stderr)
		require.Contains(t, s.stderr.String(), "starts in a row have ended without a newer version")
		e.mark.NoneLeft(t)
	}
}
