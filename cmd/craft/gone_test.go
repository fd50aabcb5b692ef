package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/manifest"
)

// What runs have left beside their versions makes a directory a checkpoint, also when no
// version is there any more: the records are reported, and what they tell of is missed.
func TestAllVersionsAreGone(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "c")
	write(t, base, "c", 2, 3)
	write(t, base, "other", 1, 1)
	third := filepath.Dir(parts(t, dir, 3)[0])
	versions, err := filepath.Glob(filepath.Join(dir, "v-*"))
	require.NoError(t, err)
	for _, v := range versions {
		require.NoError(t, os.RemoveAll(v))
	}
	for _, told := range []string{filestore.LatestName + " tells", filestore.RecordPrefix + "*-"} {
		for _, at := range []string{base, dir} {
			require.Regexp(t, `(?m)^c +20`, craft(t, "report", at).stdout)
			for _, command := range []string{"ls", "verify"} {
				r := craft(t, command, at)
				require.Equal(t, exitFailed, r.code, command)
				require.Contains(t, r.stderr, third+" was complete, as "+told, command)
				require.Equal(t, at == base, r.stdout != "", command)
			}
		}
		require.Len(t, decode[listing](t, exitFailed, "ls", base).Checkpoints, 2)
		require.Contains(t, craft(t, "show", dir).stderr, third+" was complete, as "+told)
		if told == filestore.LatestName+" tells" {
			require.NoError(t, os.Remove(filepath.Join(dir, filestore.LatestName)))
		}
	}
}

// A newest version that is not there is missed by verify as by ls, if DIR is not another
// one that is.
func TestVerifyMissesTheNewestVersion(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "c")
	write(t, base, "c", 1, 2)
	first, second := filepath.Dir(parts(t, dir, 1)[0]), filepath.Dir(parts(t, dir, 2)[0])
	require.NoError(t, os.RemoveAll(second))
	r := craft(t, "verify", dir)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, second+" was complete")
	require.False(t, decode[verification](t, exitFailed, "verify", base, "--latest").OK)
	require.True(t, decode[verification](t, exitFine, "verify", first).OK)
}

// A run that has written nothing yet has a record, and nothing is missing.
func TestRunWithoutVersions(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "c")
	write(t, base, "c", 1, 0)
	for _, at := range []string{base, dir} {
		require.Len(t, decode[reported](t, exitFine, "report", at).Runs, 1)
		r := craft(t, "ls", at)
		require.Equal(t, exitFine, r.code)
		require.Contains(t, r.stderr, dir+" holds no versions")
	}
	require.Contains(t, craft(t, "show", dir).stderr, "holds none")
	require.Contains(t, craft(t, "unlock", dir).stderr, "is not locked")
}

// What a record tells of may be on nodes that cannot be read from here.
func TestRecordOfVersionsElsewhere(t *testing.T) {
	l := newLevelled(t)
	l.run(t, "partner", 2, nil)
	l.elsewhere(t, 0, 1, 2, 3)
	r := craft(t, "ls", l.base)
	require.Equal(t, exitFine, r.code, r.stderr)
	require.Contains(t, r.stdout, "on other nodes")

	// The note may name an older one: it is written now and then.
	records, err := filepath.Glob(filepath.Join(l.dir, filestore.RecordPrefix+"*"))
	require.NoError(t, err)
	edit(t, records[0], func(b []byte) []byte {
		return bytes.Replace(b, []byte(`"last_written": 2`), []byte(`"last_written": 9`), 1)
	})
	require.Equal(t, exitFine, craft(t, "ls", l.base).code)
	require.NoError(t, os.Remove(filepath.Join(l.dir, manifest.Name)))
	r = craft(t, "ls", l.base)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, "v-000009-")
}

// Versions that were on nodes alone are not missed where NODES.json cannot be read: nothing
// tells where to look for them, which is what is said.
func TestVersionsOfANoteThatCannotBeRead(t *testing.T) {
	l := newLevelled(t)
	l.run(t, "partner", 2, nil)
	require.NoError(t, os.WriteFile(filepath.Join(l.dir, manifest.Name), []byte("{"), 0o600))
	for _, command := range []string{"ls", "verify", "show"} {
		r := craft(t, command, l.dir)
		require.Equal(t, exitFailed, r.code, command)
		require.Contains(t, r.stderr, "NODES.json cannot be understood", command)
		require.NotContains(t, r.stderr, "is not there", command)
	}
}
