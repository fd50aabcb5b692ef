package launch

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/internal/env"
)

// temporaryNodeDir is a node's storage when the user has named none. Root and
// daemon both know the name, so that either can remove it.
func temporaryNodeDir(job string, node control.Node) string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("craft-%s_%s-node-%d", job, hostMark(), node))
}

// hostMark tells the directories of this machine from those of others, where they
// share the temporary directory: locks of others may not be seen here.
func hostMark() string {
	host, _ := os.Hostname() // daemon and root have looked before
	h := fnv.New32a()
	_, _ = h.Write([]byte(host)) // never fails
	return fmt.Sprintf("%08x", h.Sum32())
}

// lastingNodePath is the base of the nodes' directories for who has not given one:
// what the environment says, and where checkpoints are to be kept there, a place
// that the next job finds again. "": temporary directories.
func lastingNodePath() string {
	if path := os.Getenv(env.NodePath); path != "" || os.Getenv(env.Levels) == "" {
		return path
	}
	return env.DefaultNodePath()
}

// makeNodeDir makes the directory that a setup asks for; remove is called when
// the node has ended.
func makeNodeDir(s *control.Setup) (dir string, remove func(), err error) {
	if s.NodePath != "" {
		dir = string(s.NodePath)
		return dir, func() {}, makeDirs(dir)
	}
	if s.Node == 0 || s.Hosts > 1 { // one of those that share a machine does for all
		removeDeadNodeDirs(time.Now())
	}
	dir = temporaryNodeDir(s.Job, s.Node)
	// Mkdir, and not MkdirAll: nobody else may have made it.
	err = os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) && removeDeadDir(dir) { // an earlier deployment of the job has left it
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil {
		return "", nil, err
	}
	// The lock ends with this process. Where there are no locks nobody gets one,
	// and no directory is taken for that of a dead node.
	lock, _ := lockDir(dir)
	return dir, func() { _, _ = os.RemoveAll(dir), lock.Close() }, nil // nil may be closed, too
}

// makeDirs is os.MkdirAll, which says "file exists" of a link that leads nowhere.
func makeDirs(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	var at *fs.PathError
	if errors.As(err, &at) && errors.Is(err, fs.ErrExist) {
		if info, look := os.Lstat(at.Path); look == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a link to something that is not there: perhaps its file system is not mounted here", at.Path)
		}
	}
	return err
}

// justMade is the age up to which a directory may not be locked yet.
const justMade = time.Minute

// removeDeadNodeDirs removes what is left of nodes whose daemon was killed together
// with its root, so that nobody was there to remove it.
func removeDeadNodeDirs(now time.Time) {
	pattern := strings.Replace(env.TemporaryNode, "_????????-", "_"+hostMark()+"-", 1)
	names, _ := filepath.Glob(filepath.Join(os.TempDir(), pattern)) // an error is one of a strange TMPDIR
	for _, name := range names {
		info, err := os.Lstat(name)
		if err == nil && now.Sub(info.ModTime()) >= justMade {
			removeDeadDir(name)
		}
	}
}

// removeDeadDir removes the directory of a node whose daemon has ended, and reports whether it has.
func removeDeadDir(name string) bool {
	info, err := os.Lstat(name)
	if err != nil || !info.IsDir() {
		return false
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return false
	}
	lock, err := lockDir(name)
	if err != nil {
		return false
	}
	err = os.RemoveAll(name)
	_ = lock.Close() // nothing was written
	return err == nil
}

// lockDir locks a directory against other processes until the file is closed.
func lockDir(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close() // it was only opened
		return nil, err
	}
	return f, nil
}
