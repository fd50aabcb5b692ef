package main

import (
	"cmp"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/filestore"
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
	require.Regexp(t, `^four +1 +[0-9a-f]{8} +0 +4  complete +\d+  20\d\d-\S+Z  [0-9a-f]{8}\*  - +pfs +pfs +- +(home|local)$`, lines[1])
	require.Contains(t, lines[2], "3 of 4 parts")
	require.Empty(t, plain.stderr)

	for _, width := range []int{20, 60, 200} {
		for line := range strings.Lines(craftOn(t, vfs.OS(), width, "ls", base).stdout) {
			require.LessOrEqual(t, len([]rune(line)), width+1)
		}
	}
	require.Equal(t, 1, len(decode[listing](t, exitFine, "ls", filepath.Join(base, "one")).Checkpoints))
}

// What no header tells of, because all of them are damaged, is not called safe.
func TestDurabilityOfDamage(t *testing.T) {
	base := t.TempDir()
	write(t, base, "c", 2, 2)
	for i, file := range parts(t, filepath.Join(base, "c"), 2) {
		edit(t, file, func(b []byte) []byte { return b[:100*i] })
	}
	versions := decode[listing](t, exitFailed, "ls", base).Checkpoints[0].Versions
	require.Equal(t, catalog.Local, *versions[0].Durability, "it was not synced")
	require.Equal(t, "damaged", versions[1].State)
	require.Equal(t, catalog.Captured, *versions[1].Durability)
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
	// That does not hang on the header.
	edit(t, parts(t, filepath.Join(base, "c"), 2)[0], func([]byte) []byte { return nil })
	versions = decode[listing](t, exitFailed, "ls", base).Checkpoints[0].Versions
	require.False(t, versions[0].NewestLineage)
	require.True(t, versions[1].NewestLineage)
	// Nor on the version: a restart misses it, and takes none of the other lineage.
	second := filepath.Dir(parts(t, filepath.Join(base, "c"), 2)[0])
	for _, note := range []string{"", filestore.LatestName} {
		require.NoError(t, os.RemoveAll(filepath.Join(base, "c", cmp.Or(note, filepath.Base(second)))))
		r := craft(t, "ls", base)
		require.Regexp(t, `c +1 `, r.stdout)
		require.NotContains(t, r.stdout, "*")
	}
}

// The mark is of the computation that a restart goes on with, also where only what is nested
// in the checkpoint is stored of it.
func TestNewestLineageInItsFirstStage(t *testing.T) {
	base := t.TempDir()
	run := func(versions int, stage bool) {
		open := func(name string) *checkpoint.Checkpoint {
			cp, err := checkpoint.New(name, nil, checkpoint.WithPath(base), checkpoint.WithSync(checkpoint.SyncNone), checkpoint.WithLogger(slog.New(slog.DiscardHandler)))
			require.NoError(t, err)
			require.NoError(t, errors.Join(cp.Add("x", new(int)), cp.Commit()))
			return cp
		}
		outer, inner := open("outer"), open("inner")
		require.NoError(t, errors.Join(outer.SubCP(inner), outer.RestartIfNeeded(t.Context(), nil), inner.RestartIfNeeded(t.Context(), nil)))
		for range versions {
			require.NoError(t, inner.Write(t.Context()))
		}
		if stage {
			require.NoError(t, outer.Write(t.Context()))
		}
		require.NoError(t, errors.Join(inner.Close(), outer.Close()))
	}
	marked := func() (outer, inner []bool) {
		for _, c := range decode[listing](t, exitFine, "ls", base).Checkpoints {
			for _, v := range c.Versions {
				if c.Name == "outer" {
					outer = append(outer, v.NewestLineage)
				} else {
					inner = append(inner, v.NewestLineage)
				}
			}
		}
		return outer, inner
	}
	run(1, true)
	t.Setenv("CRAFT_READ_CP_ON_RESTART", "0")
	run(0, false)
	outer, _ := marked()
	require.Equal(t, []bool{true}, outer)
	run(1, false)
	t.Setenv("CRAFT_READ_CP_ON_RESTART", "1")
	for range 2 {
		outer, inner := marked()
		require.Equal(t, []bool{false}, outer)
		require.Equal(t, true, inner[len(inner)-1])
		run(1, false)
	}
	run(0, true)
	outer, _ = marked()
	require.Equal(t, []bool{false, true}, outer)
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
		{"help on an unknown command", `unknown command "lss"`, exitUsage, []string{"help", "lss"}},
		{"help on an unknown command of node", `unknown command "node lss"`, exitUsage, []string{"help", "node", "lss"}},
		{"help on too much", "one directory at a time", exitUsage, []string{"help", "ls", "a", "b"}},
		{"help with a flag", "--frob", exitUsage, []string{"help", "--frob"}},
		{"completion for an unknown shell", `unknown command "completion sh"`, exitUsage, []string{"completion", "sh"}},
		{"completion with an argument", "takes no arguments", exitUsage, []string{"completion", "bash", "x"}},
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

// TestUnreadableDirectory: what is there of the rest is told all the same, and what
// nobody can see is not taken for nothing.
func TestUnreadableDirectory(t *testing.T) {
	base, secret, link := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, base, "good", 1, 1)
	write(t, base, "secret", 1, 1)
	write(t, secret, "secret", 1, 1)
	require.NoError(t, os.Symlink(filepath.Join(secret, "secret"), filepath.Join(link, "secret")))
	fsys := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
		if (op.Kind == vfs.OpReadDir || op.Kind == vfs.OpStat && strings.HasPrefix(op.Path, link+"/")) && filepath.Base(op.Path) == "secret" {
			return syscall.EACCES
		}
		return nil
	})
	for _, command := range []string{"ls", "report", "verify"} {
		r := craftOn(t, fsys, 0, command, base)
		require.Equal(t, exitFailed, r.code, command)
		require.Contains(t, r.stdout, "good", command)
		require.Contains(t, r.stderr, "secret: permission denied", command)
	}
	for _, command := range []string{"ls", "report", "verify", "show"} {
		for _, dir := range []string{secret, filepath.Join(secret, "secret"), link} {
			r := craftOn(t, fsys, 0, command, dir)
			require.Equal(t, exitFailed, r.code, command)
			require.Contains(t, r.stderr, "secret: permission denied", command)
			require.NotContains(t, r.stderr, "no ", command)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"ls"}, {"show"}, {"verify"}, {"unlock"}, {"node"}, {"node", "clean"}} {
		r := craft(t, append(args, "--help")...)
		require.Equal(t, exitFine, r.code)
		require.Contains(t, r.stdout, "Examples:")
		require.Equal(t, r, craft(t, append([]string{"help"}, args...)...))
	}
}

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// Help that could not be printed is a failure, like any other output.
func TestHelpIntoTheVoid(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"help"}, {"help", "ls"}, {"ls", "-h"}, {"run", "--help"}, {"node"}, {"node", "ls", "--help"}, {"completion"}, {"completion", "bash"}} {
		var errs strings.Builder
		p := &program{screen: screen{stdout: fullDisk{}, stderr: &errs, now: time.Now}, fs: vfs.OS()}
		require.Equal(t, exitFailed, p.run(t.Context(), args), "%v", args)
		require.Equal(t, "craft: no space left on device\n", errs.String(), "%v", args)
	}
}

// What is not there as it should be is said: a link that leads nowhere, a version that
// LATEST.json tells of, and those of another branch.
func TestListingOfWhatIsAway(t *testing.T) {
	base := t.TempDir()
	dir, disk := filepath.Join(base, "c"), filepath.Join(t.TempDir(), "disk")
	write(t, base, "c", 2, 3)
	third := filepath.Dir(parts(t, dir, 3)[0])
	require.NoError(t, os.Rename(third, disk))

	r := craft(t, "ls", base)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, third+" was complete, as LATEST.json tells, and is not there")
	require.Contains(t, craft(t, "show", dir).stderr, third+" was complete")

	require.NoError(t, os.Symlink(disk+"-not-mounted", third))
	r = craft(t, "ls", base)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, third+" is a link to something that is not there")
	require.Regexp(t, `c +3 .* away `, r.stdout)
	r = craft(t, "verify", dir)
	require.Equal(t, exitFailed, r.code)
	require.Regexp(t, `c +3 .*unreadable`, r.stdout)
	require.Contains(t, r.stdout, third+" is a link to something that is not there")
	require.Contains(t, craft(t, "show", dir).stderr, third+" is a link to")

	require.NoError(t, os.Remove(third))
	write(t, base, "c", 2, 1) // goes on from version 2
	require.NoError(t, os.Rename(disk, third))
	versions := decode[listing](t, exitFine, "ls", base).Checkpoints[0].Versions
	require.Len(t, versions, 4)
	for i, other := range []bool{false, false, true, false} {
		require.Equal(t, other, versions[i].OtherBranch, "version %d", versions[i].Version)
	}
	require.Contains(t, craft(t, "ls", base).stdout, "(other branch)")
	for _, file := range parts(t, dir, 4) { // what its run came from the record tells, too
		edit(t, file, func([]byte) []byte { return nil })
	}
	require.True(t, decode[listing](t, exitFailed, "ls", base).Checkpoints[0].Versions[2].OtherBranch)
}

// LATEST.json, or a record, that cannot be read stops a start, so all commands that look at
// versions say so, after what they have found.
func TestUnreadableNote(t *testing.T) {
	for _, name := range []string{filestore.LatestName, filestore.RecordPrefix + "*"} {
		base := t.TempDir()
		write(t, base, "c", 1, 2)
		files, err := filepath.Glob(filepath.Join(base, "c", name))
		require.NoError(t, err)
		require.Len(t, files, 1)
		require.NoError(t, errors.Join(os.Remove(files[0]), os.Mkdir(files[0], 0o700)))
		for _, command := range []string{"ls", "verify", "show"} {
			r := craft(t, command, filepath.Join(base, "c"))
			require.Equal(t, exitFailed, r.code, command)
			require.Equal(t, 1, strings.Count(r.stderr, files[0]), r.stderr)
			require.NotContains(t, r.stderr, "newest version:")
			require.NotEmpty(t, r.stdout)
		}
	}
}
