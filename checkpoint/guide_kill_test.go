package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// stepCounter counts the steps of a program, and does something before one.
type stepCounter struct {
	done int
	at   int // the number of the step, from 0
	do   func()
}

// guideSteps are those of diffuse. The guide's programs run one after the other.
var guideSteps stepCounter

func (s *stepCounter) count() {
	if s.do != nil && s.done == s.at {
		s.do()
	}
	s.done++
}

// victims are programs of the guide that are killed.
var victims = map[string]func(ctx context.Context, dir string) error{
	"simulate": func(ctx context.Context, dir string) error { _, err := simulate(ctx, dir, 100); return err },
	"sweep":    func(ctx context.Context, dir string) error { _, err := sweep(ctx, dir, 4, 50); return err },
	"stages":   func(ctx context.Context, dir string) error { _, err := runStages(ctx, dir, 25); return err },
}

const victimVariable = "CRAFT_TEST_GUIDE_VICTIM"

// killed runs a program in a process that kills itself with SIGKILL before the
// step of this number, from 0.
func killed(t *testing.T, program, dir string, step int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestGuideVictim$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s", victimVariable, program, step, dir))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.True(t, errors.As(err, &exit), "it was not killed: %v\n%s", err, out)
	require.Equal(t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal(), "%s", out)
}

// TestGuideVictim is what such a process runs.
func TestGuideVictim(t *testing.T) {
	spec := strings.SplitN(os.Getenv(victimVariable), " ", 3)
	if len(spec) < 3 {
		t.Skip("for processes that are killed")
	}
	step, err := strconv.Atoi(spec[1])
	require.NoError(t, err)
	guideSteps = stepCounter{at: step, do: func() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}}
	require.NoError(t, victims[spec[0]](t.Context(), spec[2]))
}
