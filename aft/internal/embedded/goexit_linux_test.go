package embedded_test

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// goexitVariable makes this program one whose bodies end their goroutines.
const goexitVariable = "CRAFT_TEST_GOEXIT"

// TestGoexitInMain: the program does not stay, without a goroutine.
func TestGoexitInMain(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	program := exec.CommandContext(ctx, os.Args[0])
	program.Env = append(os.Environ(), goexitVariable+"=1")
	out, err := program.CombinedOutput()
	require.NoError(t, ctx.Err(), "it has hung")
	require.Error(t, err)
	require.Equal(t, 2, program.ProcessState.ExitCode())
	require.Contains(t, string(out), "body called runtime.Goexit")
}
