//go:build linux

package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// marked are the processes that a test has started, and all that these have.
type marked struct{ variable string }

var marks int

// markProcesses gives all processes that are started from now on a mark.
func markProcesses(t *testing.T) marked {
	marks++
	value := fmt.Sprintf("%d-%d", os.Getpid(), marks)
	t.Setenv("CRAFT_TEST_MARK", value)
	return marked{"CRAFT_TEST_MARK=" + value}
}

// alive are the command lines of those that run.
func (m marked) alive(t *testing.T) []string {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	var out []string
	for _, f := range files {
		environ, err := os.ReadFile(f)
		if err != nil || !strings.Contains("\x00"+string(environ), "\x00"+m.variable+"\x00") {
			continue // ended, or of somebody else
		}
		dir := filepath.Dir(f)
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if _, state := sessionOf(pid); state == 'Z' || state == 0 {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		out = append(out, fmt.Sprintf("%d %s", pid, strings.ReplaceAll(string(line), "\x00", " ")))
	}
	return out
}

// noneLeft waits until none of them is left.
func (m marked) noneLeft(t *testing.T) {
	if !assert.Eventually(t, func() bool { return len(m.alive(t)) == 0 }, limit, 5*time.Millisecond) {
		require.FailNow(t, "left behind", "%s", strings.Join(m.alive(t), "\n"))
	}
}
