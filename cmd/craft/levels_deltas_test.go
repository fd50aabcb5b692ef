package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/storage/catalog"
)

// TestDeltas: versions that refer to others are read with them.
func TestDeltas(t *testing.T) {
	for _, levels := range []string{"", "partner"} {
		t.Run(levels, func(t *testing.T) {
			l := newLevelled(t)
			l.run(t, levels, 3, nil, checkpoint.WithDelta(10))
			versions := l.list(t).Versions
			require.Len(t, versions, 3)
			require.Empty(t, versions[0].Bases)
			require.Empty(t, versions[1].Bases)
			require.Equal(t, []uint64{2}, versions[2].Bases)
			require.EqualValues(t, 8*800_000, versions[2].Referred)
			require.Less(t, versions[2].Bytes, int64(100_000))
			require.Contains(t, craft(t, "ls", l.base).stdout, "  2 (6400000)  ")

			s := decode[shownVersion](t, exitFine, "show", l.dir, "--values")
			require.Len(t, s.Bases, 1)
			require.True(t, s.Bases[0].Complete)
			require.EqualValues(t, 8*800_000, s.Referred)
			v := keyNamed(t, s, "v")
			require.EqualValues(t, 8*800_000, v.Referred)
			require.Equal(t, "0", v.Values[0], "the value is read from version 2")
			require.Contains(t, craft(t, "show", l.dir).stdout, "refers to    6400000 in versions 2\n")
			require.True(t, decode[verification](t, exitFine, "verify", l.dir).OK)
			l.damageBase(t, versions[1])
		})
	}
}

// damageBase damages, and then removes, what the last version refers to; the first one
// does not need it.
func (l levelled) damageBase(t *testing.T, base listedVersion) {
	file := filepath.Join(string(base.Path), "rank-00001-of-00008.craft")
	edit(t, file, func(b []byte) []byte { b[400_000] ^= 1; return b })
	v := decode[verification](t, exitFailed, "verify", l.dir)
	require.NotEqual(t, verdictDamaged, v.Versions[0].Verdict)
	for _, version := range v.Versions[1:] {
		require.Equal(t, verdictDamaged, version.Verdict)
		require.Len(t, version.Findings, 1)
		require.Equal(t, file, string(version.Findings[0].File))
		require.Equal(t, "v", version.Findings[0].Key)
	}
	require.Contains(t, v.Versions[2].Findings[0].Reason, "version 3 refers to it")

	files, err := filepath.Glob(filepath.Join(l.nodes, "*", "*", "*", "*rank-00001-of-00008.craft"))
	require.NoError(t, err)
	for _, f := range append(files, file) {
		if strings.Contains(f, filepath.Base(string(base.Path))) {
			_ = os.Remove(f)
		}
	}
	v = decode[verification](t, exitFailed, "verify", l.dir)
	require.Equal(t, verdictDamaged, v.Versions[2].Verdict)
	require.Contains(t, v.Versions[2].Findings[0].Reason, "which is missing")
	require.False(t, decode[shownVersion](t, exitFine, "show", l.dir).Bases[0].Complete)
	last := l.list(t).Versions[2]
	require.Equal(t, "base missing", last.State)
	require.Equal(t, []uint64{2}, last.MissingBases)
	require.Equal(t, catalog.Captured, *last.Durability, "nobody can restart from it")
	require.Equal(t, catalog.Captured, *decode[shownVersion](t, exitFine, "show", l.dir).Durability)
}
