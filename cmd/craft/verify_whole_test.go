package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Damage at home is damage, but a restart need not do without the version if nodes have it.
func TestDamageAtHomeOfWhatNodesHave(t *testing.T) {
	l := newLevelled(t)
	l.flush = true
	l.run(t, "local,pfs:2", 2, nil)
	l.flush = false
	l.run(t, "local", 1, nil)
	onNode := filepath.Dir(l.objects(t, 0, "v-000003-*/rank-*")[0])
	third := filepath.Join(l.dir, filepath.Base(onNode))
	require.NoDirExists(t, third)
	second := filepath.Dir(parts(t, l.dir, 1)[0])
	require.NoError(t, os.CopyFS(third, os.DirFS(second))) // cp -a

	bad := decode[verification](t, exitFailed, "verify", third).Versions[0]
	require.Equal(t, verdictDamaged, bad.Verdict)
	require.Len(t, bad.Findings, 8)
	for _, f := range bad.Findings {
		require.Equal(t, third, filepath.Dir(string(f.File)))
		require.Regexp(t, `; the part on host \S+ \(`+l.nodes+`\S+\) is whole: a start with CRAFT_LEVELS reads that$`, f.Reason)
	}
	l.run(t, "local", 0, nil)
	runs := decode[reported](t, exitFine, "report", l.dir).Runs
	require.EqualValues(t, 3, runs[len(runs)-1].RestoredVersion)

	// Nothing is promised of what is damaged on the node, too.
	edit(t, l.objects(t, 0, "v-000003-*/rank-*")[0], func(b []byte) []byte { return b[:len(b)/2] })
	bad = decode[verification](t, exitFailed, "verify", third).Versions[0]
	require.NotContains(t, bad.Findings[0].Reason, "is whole")
	require.Contains(t, bad.Findings[1].Reason, "is whole")
}
