package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
)

func TestListing(t *testing.T) {
	base := t.TempDir()
	write(t, base, "one", 1, 1)
	write(t, base, "four", 4, 2)
	require.NoError(t, os.MkdirAll(filepath.Join(base, "notes", "old"), 0o700))
	require.NoError(t, os.Remove(parts(t, filepath.Join(base, "four"), 2)[2]))

	l := decode[listing](t, exitFine, "ls", base)
	require.Len(t, l.Checkpoints, 2)
	four := l.Checkpoints[0]
	require.Equal(t, "four", four.Name)
	require.Nil(t, four.Lock)
	require.Len(t, four.Versions, 2)
	require.True(t, four.Versions[0].Complete)
	require.True(t, four.Versions[0].NewestLineage)
	require.Equal(t, 4, four.Versions[0].Ranks)
	require.EqualValues(t, 0, *four.Versions[0].Iteration)
	require.Equal(t, "3 of 4 parts", four.Versions[1].State)
	require.EqualValues(t, 10, *four.Versions[1].Iteration)

	plain := craft(t, "ls", base)
	lines := strings.Split(strings.TrimSpace(plain.stdout), "\n")
	require.Len(t, lines, 4)
	require.Regexp(t, `^four +1 +[0-9a-f]{8} +0 +4  complete +\d+  20\d\d-\S+Z  [0-9a-f]{8}\*  - +pfs +pfs +-$`, lines[1])
	require.Contains(t, lines[2], "3 of 4 parts")
	require.Empty(t, plain.stderr)

	for _, width := range []int{20, 60, 200} {
		for line := range strings.Lines(craftOn(t, vfs.OS(), width, "ls", base).stdout) {
			require.LessOrEqual(t, len([]rune(line)), width+1)
		}
	}
	require.Equal(t, 1, len(decode[listing](t, exitFine, "ls", filepath.Join(base, "one")).Checkpoints))
}

func TestNewestLineage(t *testing.T) {
	base := t.TempDir()
	t.Setenv("CRAFT_READ_CP_ON_RESTART", "0")
	write(t, base, "c", 1, 1)
	write(t, base, "c", 1, 1)
	versions := decode[listing](t, exitFine, "ls", base).Checkpoints[0].Versions
	require.Len(t, versions, 2)
	require.False(t, versions[0].NewestLineage)
	require.True(t, versions[1].NewestLineage)
}

func TestNothingToList(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name, says string
		code       int
		args       []string
	}{
		{"empty directory", "no checkpoints in", exitFine, []string{"ls", dir}},
		{"show of an empty directory", "v-NUMBER-ATTEMPT", exitFailed, []string{"show", dir}},
		{"verify of an empty directory", "v-NUMBER-ATTEMPT", exitFailed, []string{"verify", dir}},
		{"unlock of an empty directory", "v-NUMBER-ATTEMPT", exitFailed, []string{"unlock", dir}},
		{"missing", "does not exist", exitFailed, []string{"ls", filepath.Join(dir, "no")}},
		{"unknown command", `unknown command "lss"`, exitUsage, []string{"lss"}},
		{"unknown command with flags", `unknown command "runn"`, exitUsage, []string{"runn", "-n", "4"}},
		{"unknown flag", "--frob", exitUsage, []string{"ls", "--frob"}},
		{"no directory", "which directory?", exitUsage, []string{"show"}},
		{"two directories", "one directory at a time", exitUsage, []string{"verify", dir, dir}},
		{"version 0", "from 1 on", exitUsage, []string{"show", dir, "--version", "0"}},
		{"rank -2", "count from 0", exitUsage, []string{"show", dir, "--rank", "-2"}},
		{"contradiction", "exclude each other", exitUsage, []string{"verify", dir, "--all", "--latest"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := craft(t, c.args...)
			require.Equal(t, c.code, r.code)
			require.Contains(t, r.stderr, c.says)
			require.Empty(t, r.stdout)
		})
	}
}

// TestUnreadableDirectory: the rest is listed all the same.
func TestUnreadableDirectory(t *testing.T) {
	base := t.TempDir()
	write(t, base, "good", 1, 1)
	write(t, base, "secret", 1, 1)
	fsys := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
		if op.Kind == vfs.OpReadDir && filepath.Base(op.Path) == "secret" {
			return syscall.EACCES
		}
		return nil
	})
	r := craftOn(t, fsys, 0, "ls", base)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stdout, "good")
	require.Contains(t, r.stderr, "secret: permission denied")
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"ls"}, {"show"}, {"verify"}, {"unlock"}} {
		r := craft(t, append(args, "--help")...)
		require.Equal(t, exitFine, r.code)
		require.Contains(t, r.stdout, "Examples:")
	}
}
