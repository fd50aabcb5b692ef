package testprocess

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// limit is long on every machine.
const limit = time.Minute

// Marked are the processes that a test has started, and all that these have.
type Marked struct{ variable string }

var marks int

// Mark gives all processes that are started from now on a mark.
func Mark(t *testing.T) Marked {
	marks++
	value := fmt.Sprintf("%d-%d", os.Getpid(), marks)
	t.Setenv("CRAFT_TEST_MARK", value)
	return Marked{"CRAFT_TEST_MARK=" + value}
}

// Alive are the numbers and command lines of those that run.
func (m Marked) Alive(t *testing.T) []string {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	var out []string
	for _, f := range files {
		environ, err := os.ReadFile(f)
		if err != nil || !strings.Contains("\x00"+string(environ), "\x00"+m.variable+"\x00") {
			continue // ended, or of somebody else
		}
		dir := filepath.Dir(f)
		status, err := os.ReadFile(filepath.Join(dir, "status"))
		if err != nil || strings.Contains(string(status), "\nState:\tZ") {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		out = append(out, fmt.Sprintf("%s %s", filepath.Base(dir), strings.ReplaceAll(string(line), "\x00", " ")))
	}
	return out
}

// NoneLeft waits until none of them is left.
func (m Marked) NoneLeft(t *testing.T) {
	if !assert.Eventually(t, func() bool { return len(m.Alive(t)) == 0 }, limit, 5*time.Millisecond) {
		require.FailNow(t, "left behind", "%s", strings.Join(m.Alive(t), "\n"))
	}
}
