// Package testprogram starts programs as processes, for tests and benchmarks of what they do.
// The program is the test binary itself: its TestMain calls Main.
package testprogram

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/internal/testprocess"
	"github.com/craft-go/craft/internal/testsignal"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asProgram in the environment makes a test binary run as the program.
const asProgram = "TEST_AS_PROGRAM"

// Main runs the tests, or in their stead a daemon of a job, or the program.
func Main(m *testing.M, program func()) {
	if code, ok := launch.Daemon(); ok {
		os.Exit(code)
	}
	if os.Getenv(asProgram) != "" {
		program()
	}
	testsignal.Restore()
	os.Exit(m.Run())
}

// Environ is what makes the test binary run as the program. Under the race detector
// it would wait for a second before it exits.
func Environ() []string { return []string{asProgram + "=1", "GORACE=atexit_sleep_ms=10"} }

// Environment is that of the test without variables of CRAFT, with the program's own.
func Environment(more ...string) []string {
	env := Environ()
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "CRAFT_") {
			env = append(env, v)
		}
	}
	return append(env, more...)
}

// Given are the flags on the command line that are not package testing's: the program's own.
func Given() (args []string) {
	flag.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") {
			args = append(args, "-"+f.Name+"="+f.Value.String())
		}
	})
	return args
}

// Program is the program in a working directory of its own.
type Program struct {
	T   testing.TB
	Dir string
	Env []string // beside that of the test, without variables of CRAFT

	runs []*Started
}

// New makes the directory.
func New(t testing.TB) *Program { return &Program{T: t, Dir: t.TempDir()} }

// Started is a run of it, ended or not.
type Started struct {
	Cmd            *exec.Cmd
	Stdout, Stderr Output

	t testing.TB
}

// Output may be read while the program runs.
type Output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// Start starts it.
func (p *Program) Start(args ...string) *Started {
	s := p.Command(args...)
	require.NoError(p.T, s.Cmd.Start())
	return s
}

// Command is a run that has not been started.
func (p *Program) Command(args ...string) *Started {
	program, err := os.Executable() // it may have been called by a path that is relative to another directory
	require.NoError(p.T, err)
	s := &Started{t: p.T, Cmd: exec.CommandContext(p.T.Context(), program, args...)}
	s.Cmd.Dir, s.Cmd.Env = p.Dir, Environment(append([]string{string(p.Mark())}, p.Env...)...)
	s.Cmd.Stdout, s.Cmd.Stderr = &s.Stdout, &s.Stderr
	p.runs = append(p.runs, s)
	return s
}

// Mark is in the environment of all processes of its jobs.
func (p *Program) Mark() testprocess.Marked { return testprocess.Marked("TEST_PROGRAM_DIR=" + p.Dir) }

// Gone waits until no process of its jobs is there any more, after the first one of
// a job was killed.
func (p *Program) Gone() {
	p.T.Helper()
	p.Eventually(func() bool { return len(p.Mark().Processes(p.T)) == 0 })
}

// End waits for the end and wants an exit code, or minus a signal.
func (s *Started) End(want int) *Started {
	s.t.Helper()
	code := 0
	if err := s.Cmd.Wait(); err != nil {
		var exit *exec.ExitError
		require.ErrorAs(s.t, err, &exit)
		code = exit.ExitCode()
		if status := exit.Sys().(syscall.WaitStatus); status.Signaled() {
			code = -int(status.Signal())
		}
	}
	require.Equal(s.t, want, code, "%s%s", &s.Stdout, &s.Stderr)
	return s
}

// JSON runs it and wants success and one line of JSON, with no other fields than those of
// result.
func (p *Program) JSON(result any, args ...string) {
	p.T.Helper()
	s := p.Start(args...).End(0)
	require.Equal(p.T, 1, strings.Count(s.Stdout.String(), "\n"))
	d := json.NewDecoder(strings.NewReader(s.Stdout.String()))
	d.DisallowUnknownFields()
	require.NoError(p.T, d.Decode(result))
}

// Eventually waits for something that the running program does. Only what never
// happens takes that long.
func (p *Program) Eventually(happened func() bool) {
	p.T.Helper()
	if !assert.Eventually(p.T, happened, 2*time.Minute, time.Millisecond) {
		said := ""
		if n := len(p.runs); n > 0 {
			said = p.runs[n-1].Stderr.String()
		}
		p.T.Fatalf("the last run has said:\n%s", said)
	}
}
