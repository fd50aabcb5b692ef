package checkpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage/manifest"
	"github.com/craft-go/craft/storage/nodelocal"
)

// everythingIn is the content of all files below a directory, and the
// directories.
func everythingIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			all[path+"/"] = ""
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			all[path] = target
			return err
		default:
			data, err := os.ReadFile(path)
			all[path] = string(data)
			return err
		}
		return nil
	}))
	return all
}

// unchanged requires that all that was below a directory still is, except for files
// whose names end in one of those.
func unchanged(t *testing.T, dir string, before map[string]string, but ...string) {
	t.Helper()
	after := everythingIn(t, dir)
	for path, content := range before {
		if slices.ContainsFunc(but, func(end string) bool { return strings.HasSuffix(path, end) }) {
			continue
		}
		now, there := after[path]
		require.True(t, there, "%s is gone", path)
		require.Equal(t, content, now, path)
	}
}

// place is the directory of the checkpoint on a node.
func (n *testNodes) place(t *testing.T, node int) string {
	t.Helper()
	return one(t, glob(t, filepath.Join(n.node(node), "grid-*")))
}

// Two jobs with checkpoints of one name on the same nodes do not meet.
func TestLevelsOfTwoJobsOnOneNode(t *testing.T) {
	ours := newTestNodes(t, 0, 0, 1, 1)
	ours.job(t, "partner", 5, none)
	before := everythingIn(t, ours.dir)

	// Theirs is on the same nodes, with another parallel file system.
	theirs := filepath.Join(t.TempDir(), "pfs")
	log := ours.job(t, "partner", 9, none, WithPath(theirs))
	require.NotContains(t, log, "msg=restored")
	unchanged(t, ours.dir, before)
	require.Len(t, glob(t, filepath.Join(ours.node(0), "grid-*")), 2)

	require.Contains(t, ours.job(t, "partner", 7, none), "iteration=4")
	require.Contains(t, ours.job(t, "partner", 11, none, WithPath(theirs)), "iteration=8")
}

// A home that was deleted and made anew has nothing to do with what the nodes
// have of the old one.
func TestLevelsOfADeletedHome(t *testing.T) {
	n := newTestNodes(t, 0, 0, 1, 1)
	n.job(t, "partner,pfs:2", 5, none)
	require.NoError(t, os.RemoveAll(filepath.Join(n.dir, "pfs")))
	before := everythingIn(t, n.dir)

	log := n.job(t, "partner,pfs:2", 3, none)
	require.NotContains(t, log, "msg=restored")
	n.job(t, "partner,pfs:2", 12, none) // so that much is deleted on the nodes
	unchanged(t, n.dir, before)
}

// A home that is at another path is not the one that the nodes know: that is
// said, and nobody starts from zero.
func TestLevelsOfAMovedHome(t *testing.T) {
	n := newTestNodes(t, 0, 0, 1, 1)
	n.job(t, "partner", 5, none)
	moved := filepath.Join(n.dir, "moved")
	require.NoError(t, os.Rename(filepath.Join(n.dir, "pfs"), moved))
	before := everythingIn(t, n.dir)
	log, err := n.try(t, "partner", 9, none, WithPath(moved))
	require.ErrorIs(t, err, ErrNoUsableVersion, log)
	require.ErrorContains(t, err, "on none of the nodes")
	require.ErrorContains(t, err, "start with the path as it was")
	unchanged(t, n.dir, before)
	require.NoError(t, os.Rename(moved, filepath.Join(n.dir, "pfs")))
	require.Contains(t, n.job(t, "partner", 7, none), "iteration=4")
}

// One byte of the identity in NODES.json is wrong: the error says so, what is stored stays,
// and is there when it is mended as the error says.
func TestLevelsOfADamagedIdentity(t *testing.T) {
	n := newTestNodes(t, 0, 0, 1, 1)
	n.job(t, "partner", 5, none)
	name := filepath.Join(n.dir, "pfs", "grid", manifest.Name)
	good, err := os.ReadFile(name)
	require.NoError(t, err)
	bad := bytes.Clone(good)
	bad[bytes.Index(bad, []byte(`"id": "`))+len(`"id": "`)] ^= 1
	require.NoError(t, os.WriteFile(name, bad, 0o600))
	log, err := n.try(t, "partner", 9, none)
	require.ErrorIs(t, err, ErrNoUsableVersion, log)
	advice := regexp.MustCompile(`make it "(\w+)" in (\S+) if`).FindStringSubmatch(err.Error())
	require.Len(t, advice, 3, err.Error())
	require.Contains(t, string(good), `"id": "`+advice[1]+`"`)
	require.Equal(t, name, advice[2])
	require.NoError(t, os.WriteFile(name, good, 0o600))
	require.Contains(t, n.job(t, "partner", 7, none), "iteration=4")
}

// What does not belong there stays where it is, and is not taken for a version.
func TestLevelsForeignFiles(t *testing.T) {
	n := newTestNodes(t, 0, 0, 1, 1)
	n.job(t, "partner", 5, none)
	var foreign []string
	put := func(path string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte("of somebody else: "+path), 0o600))
		foreign = append(foreign, path)
	}
	place := n.place(t, 0)
	version := filepath.Dir(one(t, n.files(t, 5, "rank-00000")))
	put(filepath.Join(n.node(0), "grid"))
	put(filepath.Join(n.node(0), "grid-0123456789abcdef", "v-000099-0123456789abcdef", "rank-00000-of-00004.craft"))
	put(filepath.Join(place, "notes.txt"))
	put(filepath.Join(place, "v-99", "rank-00000-of-00004.craft"))
	put(filepath.Join(place, "backup-"+filepath.Base(version), "rank-00000-of-00004.craft"))
	put(filepath.Join(place, "v-000098-0123456789ABCDEF", "rank-00000-of-00004.craft"))
	put(filepath.Join(place, "v-000097-0123456789abcdef")) // a file
	put(filepath.Join(place, ".trash-notes"))
	require.NoError(t, os.Symlink(n.node(1), filepath.Join(place, "v-000096-0123456789abcdef")))

	before := everythingIn(t, n.dir)
	require.Contains(t, n.job(t, "partner", 6, none), "iteration=4")
	require.Contains(t, n.job(t, "partner", 12, none), "iteration=5")
	after := everythingIn(t, n.dir)
	for _, path := range foreign {
		require.Equal(t, before[path], after[path], path)
	}
	require.Contains(t, after, filepath.Join(place, "v-000096-0123456789abcdef"))
	require.NotEmpty(t, n.files(t, 12, ""), "the numbers have not gone on from 5")
}

// Files of one version under the name of another are not that version.
func TestLevelsRenamedVersion(t *testing.T) {
	n := newTestNodes(t, 0, 0, 1, 1)
	n.job(t, "partner", 5, none)
	for _, old := range glob(t, filepath.Join(n.dir, "node*", "grid-*", "v-000004-*")) {
		require.NoError(t, os.CopyFS(strings.Replace(old, "v-000004-", "v-000009-", 1), os.DirFS(old)))
	}
	log := n.job(t, "partner", 7, none)
	require.Contains(t, log, "it was copied or renamed")
	require.Contains(t, log, "iteration=4")
}

// A place that is not ours, or of which nobody can tell, is an error that says
// which one and why; it is neither used nor deleted.
func TestLevelsForeignPlace(t *testing.T) {
	ofData(t)
	owner := func(change func(o *nodelocal.Owner)) func(t *testing.T, place string) {
		return func(t *testing.T, place string) {
			path := filepath.Join(place, nodelocal.OwnerName)
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			var o nodelocal.Owner
			require.NoError(t, json.Unmarshal(data, &o))
			change(&o)
			data, err = json.Marshal(o)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, data, 0o600))
		}
	}
	for name, c := range map[string]struct {
		change func(t *testing.T, place string)
		says   string
	}{
		"of another user":  {owner(func(o *nodelocal.Owner) { o.UID++ }), "it was made by user"},
		"of another home":  {owner(func(o *nodelocal.Owner) { o.Home += "x" }), "it was made for checkpoint"},
		"of another store": {owner(func(o *nodelocal.Owner) { o.ID = "0123" }), "with the identity"},
		"of another host":  {owner(func(o *nodelocal.Owner) { o.Host, o.Boot, o.Machine = "elsewhere", "b", "m" }), "it was made on host elsewhere"},
		"open to others":   {func(t *testing.T, place string) { require.NoError(t, os.Chmod(place, 0o755)) }, "is open to others"},
		"a link": {func(t *testing.T, place string) {
			require.NoError(t, os.Rename(place, place+".real"))
			require.NoError(t, os.Symlink(place+".real", place))
		}, "it is a symbolic link"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newTestNodes(t, 0, 0, 1, 1)
			n.job(t, "partner", 5, none)
			place := n.place(t, 1)
			c.change(t, place)
			before := everythingIn(t, n.dir)
			_, err := n.try(t, "partner", 9, func(context.Context, *grid) error { t.Error("it runs"); return nil })
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, place)
			unchanged(t, n.dir, before)
		})
	}
}

// What the nodes have is found through a symbolic link to the checkpoint's
// directory too, whatever modes the files there have.
func TestLevelsThroughALink(t *testing.T) {
	nodes := newTestNodes(t, 0, 1)
	nodes.job(t, "partner", 5, none)
	t.Setenv("CRAFT_FILE_MODE", "0640")
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(filepath.Join(nodes.dir, "pfs"), link))
	require.Contains(t, nodes.job(t, "partner", 7, none, WithPath(link)), "iteration=4")
	nodes.lose(t, 1)
	require.Contains(t, nodes.job(t, "partner", 9, none), "iteration=6")
}

// Nodes' directories that the launcher removes with the job are said to be such.
func TestLevelsInTemporaryDirectories(t *testing.T) {
	const warning = "what is kept on the nodes ends with this job"
	nodes := newTestNodes(t, 0, 0)
	require.NotContains(t, nodes.job(t, "local", 3, none), warning)
	temporary := filepath.Join(t.TempDir(), "craft-0123456789abcdef_01234567-node-0")
	log := nodes.job(t, "local", 3, none, WithPath(t.TempDir()), WithNodePath(temporary))
	require.Equal(t, 1, strings.Count(log, warning), log)
}
