package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/stretchr/testify/require"
)

// leveled runs the small problem on 8 processes of 4 nodes.
func leveled(levels string, more ...string) []string {
	return small(append([]string{"-np", "8", "-nodes", "4", "-node-path", "nodes", "-levels", levels}, more...)...)
}

func (p *program) found(pattern string) []string {
	all, err := filepath.Glob(filepath.Join(p.Dir, pattern))
	require.NoError(p.T, err)
	return all
}

func (p *program) lose(nodes ...string) {
	for _, n := range nodes {
		require.NoError(p.T, os.RemoveAll(filepath.Join(p.Dir, "nodes", "node-"+n)))
	}
}

// TestLevelsSurviveTheLossOfNodes without anything on the parallel file system.
func TestLevelsSurviveTheLossOfNodes(t *testing.T) {
	want := newProgram(t).result(small("-np", "8", "-iters", "100")...)
	require.Empty(t, want.Levels)
	longer := newProgram(t).result(small("-np", "8", "-iters", "140")...)
	for levels, lost := range map[string][]string{"partner": {"1"}, "xor": {"0"}, "rs": {"3", "0"}} {
		t.Run(levels, func(t *testing.T) {
			p := newProgram(t)
			// It dies before it has finished, which stores its last version at home.
			p.Start(leveled(levels, "-iters", "100", "-recovery", "ABORT", "-die-at", "99")...).End(128 + int(syscall.SIGKILL))
			require.Empty(t, p.found("cp/lanczos/v-*"))
			home := t.TempDir()
			require.NoError(t, os.CopyFS(home, os.DirFS(filepath.Join(p.Dir, "cp"))))
			require.NoError(t, os.Remove(filepath.Join(home, "lanczos", ".lock"))) // a copy of it is watched for half a minute
			p.lose(lost...)
			// The version of iteration 100 is safe when the node dies; that of 80 may
			// not be yet: its redundancy comes back in the background.
			again := p.result(leveled(levels, "-iters", "140", "-kill-node", "2@110")...)
			require.Equal(t, levels, again.Levels)
			require.Equal(t, 81, again.RestartedFrom)
			require.Equal(t, 1, again.Recoveries)
			require.Equal(t, longer.Digest, again.Digest)
			p.lose("0", "1", "2", "3")
			finished := p.result(leveled(levels, "-iters", "140")...)
			require.Equal(t, 140, finished.RestartedFrom)
			require.Equal(t, longer.Digest, finished.Digest)

			// All nodes are lost at the moment of that death.
			p = newProgram(t)
			require.NoError(t, os.CopyFS(filepath.Join(p.Dir, "cp"), os.DirFS(home)))
			s := p.Start(leveled(levels, "-iters", "100")...).End(1)
			require.Contains(t, s.Stderr.String(), "no usable version")
			require.Contains(t, s.Stderr.String(), "-fresh")
			fresh := p.result(leveled(levels, "-iters", "100", "-fresh")...)
			require.Equal(t, want.Digest, fresh.Digest)
			require.Equal(t, want.VersionsWritten, fresh.VersionsWritten)
		})
	}
}

// TestSignalBringsTheVersionHome: the next start may get other nodes.
func TestSignalBringsTheVersionHome(t *testing.T) {
	for i, mode := range jobs.Modes {
		p := newProgram(t)
		sig := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}[i%2]
		endless := leveled([]string{"local", "partner", "xor"}[i], "-iters", "100000000", "-async", string(mode))
		s := p.Start(endless...)
		// Any version: each is there for some milliseconds alone.
		p.Eventually(func() bool { return len(p.found("nodes/*/*/v-*/rank-*")) > 0 })
		require.Empty(t, p.found("cp/lanczos/v-*"))
		require.NoError(t, s.Cmd.Process.Signal(sig))
		s.End(endCode(sig))
		require.Contains(t, s.Stderr.String(), "is stored; start it again")
		require.NotContains(t, s.Stderr.String(), "not on the parallel file system")
		p.lose("0", "1", "2", "3")
		last := regexp.MustCompile(`of iteration (\d+), is stored`).FindStringSubmatch(s.Stderr.String())
		require.NotNil(t, last, s.Stderr.String())
		got := p.result(append(endless, "-iters", "1")...)
		require.Equal(t, last[1], strconv.Itoa(got.RestartedFrom-1))
	}
}

// TestStorageOfANodeVanishes while the job runs: it goes on, and what it writes
// then is safe.
func TestStorageOfANodeVanishes(t *testing.T) {
	for i, levels := range []string{"local", "partner", "xor"} {
		t.Run(levels, func(t *testing.T) {
			p := newProgram(t)
			endless := leveled(levels, "-iters", "100000000", "-async", string(jobs.Modes[i]))
			s := p.Start(endless...)
			p.Eventually(func() bool { return len(p.found("nodes/node-1/*/v-*/rank-*")) > 2 }) // of two versions
			// At once: what is deleted file by file can be made again in between.
			require.NoError(t, os.Rename(filepath.Join(p.Dir, "nodes", "node-1"), filepath.Join(p.Dir, "gone")))
			p.Eventually(func() bool { return p.wentOn(2) })
			p.Eventually(func() bool { return strings.Contains(s.Stderr.String(), "the node's storage is gone") })
			require.NoError(t, s.Cmd.Process.Kill())
			s.End(-int(syscall.SIGKILL))
			p.Gone()
			got := p.result(append(endless, "-iters", "1")...)
			require.Greater(t, got.RestartedFrom, 20)
		})
	}
}

// wentOn reports whether that many parts of a version are on the parallel file system,
// and one of a newer version: then the older one is complete.
func (p *program) wentOn(parts int) bool {
	version, there := "", 0
	for _, file := range p.found("cp/lanczos/v-*/rank-*") { // in their order
		if dir := filepath.Dir(file); dir != version {
			if there == parts {
				return true
			}
			version, there = dir, 0
		}
		there++
	}
	return false
}

func TestLevelsUsage(t *testing.T) {
	p := newProgram(t)
	s := p.Start(small("-levels", "partner,disk:3")...).End(2)
	require.Contains(t, s.Stderr.String(), "-levels")
	require.Contains(t, s.Stderr.String(), `"disk"`)
	s = p.Start(small("-node-path", "")...).End(2)
	require.Contains(t, s.Stderr.String(), "-node-path")
	p.Env = []string{"CRAFT_LEVELS=partner:2", "CRAFT_NODE_PATH=" + filepath.Join(p.Dir, "nodes")}
	require.Equal(t, "partner:2", p.result(small("-np", "2", "-nodes", "2", "-iters", "50")...).Levels)
	require.NotEmpty(t, p.found("nodes/node-1/lanczos-*/v-*"))
	p.Env = append(p.Env, "CRAFT_USE_SCR=0")
	require.Empty(t, p.result(small("-np", "2", "-nodes", "2", "-iters", "50", "-fresh")...).Levels)
	require.NotEmpty(t, p.found("cp/lanczos/v-*"))
	require.True(t, strings.Contains(p.Start("-help").End(0).Stderr.String(), "-levels"))
}
