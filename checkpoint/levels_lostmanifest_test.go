package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/manifest"
)

// A checkpoint whose note was deleted does not begin from zero without a word, and goes
// on when it is put back, if need be by hand.
func TestLevelsNoteIsGone(t *testing.T) {
	const unused = "what nodes have of this checkpoint is not used"
	n := newTestNodes(t, 0, 0, 1, 1)
	log := n.job(t, "partner", 5, none)
	require.NotContains(t, log, unused, "there was nothing before")
	note := n.manifest(t)
	require.NoError(t, os.Remove(n.manifestPath()))
	records := glob(t, filepath.Join(n.dir, "pfs", "grid", filestore.RecordPrefix+"*"))
	for _, told := range []bool{true, false} { // by the record that there was something
		if !told {
			require.NoError(t, os.Remove(one(t, records)))
		}
		log, err := n.try(t, "partner", 0, none)
		require.Equal(t, told, errors.Is(err, ErrNoUsableVersion), err)
		require.Equal(t, 1, strings.Count(log, unused), log)
		require.Contains(t, log, n.node(0))
		require.Contains(t, log, n.node(1))
		require.NotContains(t, log, "msg=restored")
	}
	require.NotContains(t, n.job(t, "partner", 0, none), unused, "it is said whenever a job begins")

	require.NoError(t, os.WriteFile(n.manifestPath(), fmt.Appendf(nil, `{"format": 1, "id": %q}`, note.ID), 0o600))
	log = n.job(t, "partner", 6, none)
	require.NotContains(t, log, unused)
	require.Contains(t, log, "iteration=4")
}

// A strict start does not go on without what it has seen on the nodes, and leaves nothing
// behind: neither in the directory, which may be a mount point, nor on the nodes.
func TestStrictWithoutTheNote(t *testing.T) {
	for name, happen := range map[string]func(t *testing.T, n *testNodes){
		"the note": func(t *testing.T, n *testNodes) {
			n.removeMetadata(t, manifest.Name, filestore.RecordPrefix+"*")
		},
		"the directory": func(t *testing.T, n *testNodes) {
			home := filepath.Join(n.dir, "pfs", "grid")
			require.NoError(t, os.Rename(home, filepath.Join(t.TempDir(), "mounted")))
			require.NoError(t, os.Mkdir(home, 0o700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newTestNodes(t, 0, 0, 1, 1)
			n.job(t, "partner,pfs:3", 5, untilFlushed(3))
			happen(t, n)
			for _, policy := range []string{"1", "allow-absent,allow-branch,allow-damaged"} {
				err := n.refused(t, "partner,pfs:3", policy)
				require.ErrorContains(t, err, "unseen: ")
				require.ErrorContains(t, err, manifest.Name)
				require.ErrorContains(t, err, n.place(t, 1))
				require.ErrorContains(t, err, "allow-unseen")
			}
			n.job(t, "partner,pfs:3", 6, none, WithStrict(AllowUnseen))
			n.job(t, "partner,pfs:3", 7, none, WithStrict())
		})
	}
	n := newTestNodes(t, 0, 0, 1, 1)
	for range 2 { // what ended before it had a version has left nothing that is needed
		n.job(t, "partner", 0, none, WithStrict())
	}
}

// The note is a link to a place that is not there now.
func TestLevelsNoteIsElsewhere(t *testing.T) {
	n := newTestNodes(t, 0, 0, 1, 1)
	n.job(t, "partner", 5, none)
	target := filepath.Join(n.dir, "target")
	require.NoError(t, os.Rename(n.manifestPath(), target+".away"))
	require.NoError(t, os.Symlink(target, n.manifestPath()))
	for _, levels := range []string{"partner", ""} {
		_, err := n.try(t, levels, 6, none)
		require.ErrorContains(t, err, n.manifestPath()+" is a link to something that is not there")
	}
	require.NoError(t, os.Rename(target+".away", target))
	require.Contains(t, n.job(t, "partner", 6, none), "iteration=4")
}
