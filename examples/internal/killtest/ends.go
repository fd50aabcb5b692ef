package killtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/internal/testprogram"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/stretchr/testify/require"
)

// AnyMode is how a round writes its versions: in any mode, and to the file system or to the nodes.
func AnyMode(rng *rand.Rand) []string {
	return []string{"-async", string(oneOf(rng, jobs.Modes...)), "-levels", oneOf(rng, "", "local:1,pfs:1000", "mem:1,pfs:1000"), "-node-path", "nodes"}
}

// endsInAChain are the starts of a chain that are asked to end; a further one comes to its own end.
const endsInAChain = 3

// Ends asks a program to end, by SIGTERM at any moment, and starts it again until it gets through, which may take some
// starts: on ranks that are goroutines, and processes. Each that has begun says once what it has left, which a start on other
// nodes goes on from; the last one ends with the digest of an undisturbed run, and what is started after that computes
// nothing. more are further arguments of a chain.
//
//	CRAFT_TEST_SECONDS  how long it goes on at least (2)
//	CRAFT_TEST_SEED     replays the choices (not the machine's timing)
func Ends(t *testing.T, args []string, more func(rng *rand.Rand) []string) {
	e := &ends{t: t, rand: testseed.Rand(t), args: append(args[:len(args):len(args)], "-json", "-cp-path", "cp")}
	undisturbed := testprogram.New(t)
	undisturbed.Env = environment
	e.want = e.result(undisturbed.Start(append(e.args, "-ranks", "3")...).End(0))
	e.long = time.Duration(e.want.Seconds * float64(time.Second))
	until := time.Now().Add(time.Duration(testseed.Number(t, "CRAFT_TEST_SECONDS", 2)) * time.Second)
	for chains := 0; chains < 4 || e.ended == 0 || time.Now().Before(until); chains++ {
		ranks := []string{"-ranks", "-np"}[chains%2]
		e.chain(slices.Concat(e.args, more(e.rand), []string{ranks, "3"}))
	}
	t.Logf("%d starts, %d have ended because they were asked to, %d were not listening yet", e.starts, e.ended, e.deaf)
}

type ends struct {
	t                   *testing.T
	rand                *rand.Rand
	args                []string
	want                jobResult
	long                time.Duration
	starts, ended, deaf int
}

func (e *ends) chain(args []string) {
	p := testprogram.New(e.t)
	p.Env = environment
	for start := 0; ; start++ {
		e.starts++
		s := p.Start(args...)
		ended := make(chan error, 1)
		go func() { ended <- s.Cmd.Wait() }()
		early := start == 0 // it may be asked before it listens
		asked := start < endsInAChain && e.begun(p, ended, early)
		if asked {
			time.Sleep(time.Duration(e.rand.Int64N(int64(e.long))))
			_ = s.Cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		}
		code := exitCode(e.t, <-ended)
		what := fmt.Sprintf("start %d, %v: exit code %d\n%s%s", start, args, code, &s.Stdout, &s.Stderr)
		switch {
		case code == checkpoint.ExitDone:
			require.Equal(e.t, e.want.Digest, e.result(s).Digest, what)
			e.again(p, args)
			return
		case early && code == 128+int(syscall.SIGTERM):
			e.deaf++
		default:
			require.True(e.t, asked, what)
			require.Equal(e.t, checkpoint.ExitRequeue, code, what)
			if !early || !strings.Contains(s.Stderr.String(), "before the ranks were started: the job is to go on later") {
				require.Equal(e.t, 1, strings.Count(s.Stderr.String(), checkpoint.ErrDeadline.Error()+" ("), what)
			}
			require.Empty(e.t, s.Stdout.String(), what)
			e.ended++
		}
		require.NoError(e.t, os.RemoveAll(filepath.Join(p.Dir, "nodes")), "the next start gets other nodes")
	}
}

// begun waits until a start has the lock of its checkpoint, unless it is early; false: it has ended.
func (e *ends) begun(p *testprogram.Program, ended chan error, early bool) bool {
	for limit := time.Now().Add(2 * time.Minute); !early; time.Sleep(time.Millisecond) {
		locks, err := filepath.Glob(filepath.Join(p.Dir, "cp", "*", ".lock"))
		require.NoError(e.t, err)
		if len(locks) > 0 {
			break
		}
		select {
		case err := <-ended:
			ended <- err
			return false
		default:
		}
		require.True(e.t, time.Now().Before(limit), "it does not begin")
	}
	return true
}

// again starts what has got through: there is nothing left to compute.
func (e *ends) again(p *testprogram.Program, args []string) {
	s := p.Start(args...).End(0)
	require.Equal(e.t, e.want.Digest, e.result(s).Digest)
	require.NotContains(e.t, s.Stdout.String(), `"restarted_from":-1`)
	if strings.Contains(s.Stdout.String(), `"versions_written"`) {
		require.Contains(e.t, s.Stdout.String(), `"versions_written":0,`)
	}
}

func (e *ends) result(s *testprogram.Started) (r jobResult) {
	require.NoError(e.t, json.Unmarshal([]byte(s.Stdout.String()), &r), "%s", &s.Stderr)
	return r
}

// exitCode is that of a process, as a shell has it.
func exitCode(t *testing.T, err error) int {
	if err == nil {
		return 0
	}
	var exit *exec.ExitError
	require.True(t, errors.As(err, &exit), "%v", err)
	if status := exit.Sys().(syscall.WaitStatus); status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}
