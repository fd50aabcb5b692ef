// Package testprocess is for tests that start processes, none of which may be left.
// It sees them where there is /proc; elsewhere there seem to be none.
package testprocess

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// limit is long on every machine.
const limit = time.Minute

// Marked are the processes that a test has started, and all that these have: this
// ("NAME=value") is in the environment of each.
type Marked string

var marks atomic.Int64

// Mark gives all processes that are started from now on a mark.
func Mark(t *testing.T) Marked {
	m := NewMark()
	name, value, _ := strings.Cut(string(m), "=")
	t.Setenv(name, value)
	return m
}

// NewMark is one to start processes with, for tests that run at the same time.
func NewMark() Marked {
	return Marked(fmt.Sprintf("CRAFT_TEST_MARK=%d-%d", os.Getpid(), marks.Add(1)))
}

// Process is one of them.
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

// Processes are those that run: zombies have ended.
func (m Marked) Processes(t testing.TB) (all []Process) {
	t.Helper()
	name, value, _ := strings.Cut(string(m), "=")
	dirs, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		p := Process{env: bytes.Split(env, []byte{0})}
		if err != nil || p.Variable(name) != value {
			continue // ended, or of somebody else
		}
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		p.PID, _ = strconv.Atoi(filepath.Base(dir))
		p.Parent, _ = strconv.Atoi(fields[1])
		if fields[0] != "Z" && p.PID != os.Getpid() {
			all = append(all, p)
		}
	}
	return all
}

// Node are the processes of one node of a job.
type Node struct {
	Daemon int
	Ranks  []int
}

// Nodes are those with ranks, which are children of their daemon. The killed are left out: on
// a busy machine it takes a process that was killed a while to be gone.
func (m Marked) Nodes(t testing.TB, killed map[int]bool) (nodes []Node) {
	t.Helper()
	all := m.Processes(t)
	daemons := make(map[int]bool)
	for _, p := range all {
		daemons[p.PID] = p.Variable("CRAFT_ROLE") == "daemon" && !killed[p.PID]
	}
	for _, p := range all {
		if p.Variable("CRAFT_ROLE") != "rank" || killed[p.PID] || !daemons[p.Parent] {
			continue
		}
		i := slices.IndexFunc(nodes, func(n Node) bool { return n.Daemon == p.Parent })
		if i < 0 {
			i = len(nodes)
			nodes = append(nodes, Node{Daemon: p.Parent})
		}
		nodes[i].Ranks = append(nodes[i].Ranks, p.PID)
	}
	return nodes
}

// Alive are the numbers and command lines of those that run.
func (m Marked) Alive(t *testing.T) (out []string) {
	for _, p := range m.Processes(t) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
		out = append(out, fmt.Sprintf("%d %s", p.PID, strings.ReplaceAll(string(line), "\x00", " ")))
	}
	return out
}

// NoneLeft waits until none of them is left.
func (m Marked) NoneLeft(t *testing.T) {
	if !assert.Eventually(t, func() bool { return len(m.Alive(t)) == 0 }, limit, 5*time.Millisecond) {
		require.FailNow(t, "left behind", "%s", strings.Join(m.Alive(t), "\n"))
	}
}
