package killtest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Process is one of those that a test has started, or that these have started.
type Process struct {
	PID, Parent int

	env [][]byte
}

// Variable is what a variable of its environment has been when it was started.
func (p Process) Variable(name string) string {
	for _, v := range p.env {
		if value, ok := bytes.CutPrefix(v, []byte(name+"=")); ok {
			return string(value)
		}
	}
	return ""
}

// Processes are those that have a mark ("NAME=value") in their environment, beside
// this one. Zombies have none. It needs /proc.
func Processes(t *testing.T, mark string) (all []Process) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !bytes.Contains(env, []byte(mark+"\x00")) {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		pid, _ := strconv.Atoi(filepath.Base(dir))
		parent, _ := strconv.Atoi(fields[1])
		if pid != os.Getpid() && fields[0] != "Z" {
			all = append(all, Process{PID: pid, Parent: parent, env: bytes.Split(env, []byte{0})})
		}
	}
	return all
}
