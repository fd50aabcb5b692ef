package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage/manifest"
	"github.com/craft-go/craft/storage/nodelocal"
)

// What a start reads, because it signs the directory of a node again, counts for those who
// look at it, too.
func TestUnsignedDirectoryOfANode(t *testing.T) {
	l := newLevelled(t)
	l.run(t, "local", 2, nil)
	owner := l.objects(t, 1, nodelocal.OwnerName)[0]
	require.NoError(t, os.Remove(owner))
	for _, v := range l.list(t).Versions {
		require.Equal(t, "complete", v.State)
		require.Equal(t, "local", v.Reached.String())
	}
	says := "directory " + filepath.Dir(owner) + " of checkpoint c: it has no OWNER.json, which a start makes again"
	for _, command := range []string{"ls", "verify"} {
		r := craft(t, command, l.base)
		require.Equal(t, exitFine, r.code, r.stderr)
		require.Contains(t, r.stderr, says)
	}
	require.Equal(t, exitFine, craft(t, "show", l.dir).code)

	l.run(t, "local", 0, nil) // restarts
	require.FileExists(t, owner)
	require.Empty(t, craft(t, "ls", l.base).stderr)

	// One of another name is nobody's.
	require.NoError(t, os.Remove(owner))
	require.NoError(t, os.Rename(filepath.Dir(owner), filepath.Dir(owner)+"0"))
	note := filepath.Join(l.dir, manifest.Name)
	edit(t, note, func(b []byte) []byte {
		return bytes.Replace(b, []byte(filepath.Dir(owner)+`"`), []byte(filepath.Dir(owner)+`0"`), 1)
	})
	require.Equal(t, "6 of 8 parts", l.list(t).Versions[1].State)
}
