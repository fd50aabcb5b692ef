package main

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestListing7 of the paper: the inner checkpoint stays on the nodes, the outer
// one is on the parallel file system. The job is killed inside of a point, and the
// storage of a node is lost.
func TestListing7(t *testing.T) {
	want := newProgram(t).result(small("-np", "4")...)
	for _, levels := range []string{"partner", "xor"} {
		t.Run(levels, func(t *testing.T) {
			p := newProgram(t)
			args := small("-np", "4", "-nodes", "2", "-levels", levels, "-node-path", "nodes")
			found := func(pattern string) []string {
				all, err := filepath.Glob(filepath.Join(p.Dir, pattern))
				require.NoError(t, err)
				return all
			}
			endless := append(args, "-iters", "100000000", "-nx", "240", "-ny", "200", "-inner-freq", "2")
			s := p.Start(endless...)                                                            // until it is killed
			p.Eventually(func() bool { return len(found("nodes/*/lanczos-*/v-*/rank-*")) > 4 }) // of two versions
			require.NoError(t, s.Cmd.Process.Kill())
			s.End(-int(syscall.SIGKILL))
			p.Gone()
			require.NoError(t, os.RemoveAll(filepath.Join(p.Dir, "nodes", "node-1")))
			again := p.Start(endless...)
			p.Eventually(func() bool {
				return bytes.Contains([]byte(again.Stderr.String()), []byte("goes on from its own checkpoint"))
			})
			require.NoError(t, again.Cmd.Process.Kill())
			again.End(-int(syscall.SIGKILL))
			p.Gone()
			require.Empty(t, found("cp/lanczos/v-*"), "inner versions are on the parallel file system")

			got := p.result(append(args, "-cp-path", "other", "-die-at", "2:25")...)
			require.Equal(t, want.Digest, got.Digest)
			require.Equal(t, levels, got.Levels)
			require.Equal(t, 1, got.Recoveries)
			require.Empty(t, found("other/lanczos/v-*"))
			require.NotEmpty(t, found("other/sweep/v-*"))
			require.NotEmpty(t, found("nodes/*/lanczos-*/v-*"))
			require.Empty(t, found("nodes/*/sweep-*"))
		})
	}
}
