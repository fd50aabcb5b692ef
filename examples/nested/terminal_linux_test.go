package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestTerminal: a user who looks at it sees that it gets on.
func TestTerminal(t *testing.T) {
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	defer screen.Close()
	require.NoError(t, unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	stderr, err := os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	defer stderr.Close()
	t.Chdir(t.TempDir())
	require.Zero(t, run(small(), io.Discard, stderr))
	lines := bufio.NewScanner(screen)
	for point := range 5 {
		require.True(t, lines.Scan())
		require.Equal(t, fmt.Sprintf("point %d is done, after 40 iterations; %d more", point, 4-point), lines.Text())
	}
}
