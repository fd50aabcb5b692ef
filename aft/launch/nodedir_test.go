package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/internal/osstring"
)

// TestDeadNodesAreSwept: the next node removes the storage of nodes whose daemon
// and root were killed together, and nothing else.
func TestDeadNodesAreSwept(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	old := time.Now().Add(-2 * justMade)
	made := func(name string) string {
		dir := filepath.Join(os.TempDir(), name)
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "data"), 0o700))
		require.NoError(t, os.Chtimes(dir, old, old))
		return dir
	}
	const job = "0123456789abcdef"
	require.True(t, env.IsTemporaryNode(temporaryNodeDir(job, 12)))
	require.False(t, env.IsTemporaryNode(env.DefaultNodePath()))
	ofJob := func(n control.Node) string { return filepath.Base(temporaryNodeDir(job, n)) }
	dead := made(ofJob(1))
	others := []string{made("craft-mine"), made("craft-" + job + "_00000000-node-1"), made("data-node-1")}
	young := made(ofJob(2))
	require.NoError(t, os.Chtimes(young, time.Now(), time.Now()))
	link := temporaryNodeDir(job, 3)
	require.NoError(t, os.Symlink(others[0], link))

	setup := &control.Setup{Job: "fedcba9876543210", Hosts: 1, Node: 2}
	_, removeThird, err := makeNodeDir(setup)
	require.NoError(t, err)
	require.DirExists(t, dead, "the first node of the machine does that")
	removeThird()
	setup.Node = 0
	alive, remove, err := makeNodeDir(setup)
	require.NoError(t, err)
	require.NoDirExists(t, dead)
	for _, name := range append(others, young) {
		require.DirExists(t, filepath.Join(name, "data"))
	}
	require.NoError(t, os.Chtimes(alive, old, old))
	setup.Hosts, setup.Node = 2, 1
	second, removeSecond, err := makeNodeDir(setup)
	require.NoError(t, err)
	require.DirExists(t, alive, "its daemon lives")
	remove()
	require.NoDirExists(t, alive)
	removeSecond()
	require.NoDirExists(t, second)
}

// TestLockOfANodeIsNotInherited: what a rank leaves running does not keep it.
func TestLockOfANodeIsNotInherited(t *testing.T) {
	dir := t.TempDir()
	lock, err := lockDir(dir)
	require.NoError(t, err)
	child := exec.Command("sleep", "1000")
	require.NoError(t, child.Start())
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	_, err = lockDir(dir)
	require.Error(t, err)
	require.NoError(t, lock.Close())
	again, err := lockDir(dir)
	require.NoError(t, err)
	require.NoError(t, again.Close())
}

// A node's directory that is a link to a disk that is not mounted, or lies below one, is said
// to be that, and not to exist.
func TestNodeDirIsALinkThatLeadsNowhere(t *testing.T) {
	link := filepath.Join(t.TempDir(), "disk")
	require.NoError(t, os.Symlink(link+"-away", link))
	for _, dir := range []string{link, filepath.Join(link, "node-0")} {
		_, _, err := makeNodeDir(&control.Setup{NodePath: osstring.String(dir)})
		require.ErrorContains(t, err, link+" is a link to something that is not there")
	}
	require.NoError(t, os.Mkdir(link+"-away", 0o700))
	_, _, err := makeNodeDir(&control.Setup{NodePath: osstring.String(filepath.Join(link, "node-0"))})
	require.NoError(t, err)
	require.DirExists(t, filepath.Join(link+"-away", "node-0"))
}
