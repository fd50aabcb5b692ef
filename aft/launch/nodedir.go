package launch

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/craft-go/craft/aft/control"
)

// temporaryNodeDir is a node's storage when the user has named none. Root and
// daemon both know the name, so that either can remove it.
func temporaryNodeDir(job string, node control.Node) string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("craft-%s-node-%d", job, node))
}

// makeNodeDir makes the directory that a setup asks for; remove is called when
// the node has ended.
func makeNodeDir(s *control.Setup) (dir string, remove func(), err error) {
	if s.NodePath != "" {
		return s.NodePath, func() {}, os.MkdirAll(s.NodePath, 0o700)
	}
	dir = temporaryNodeDir(s.Job, s.Node)
	// Mkdir, and not MkdirAll: nobody else may have made it.
	err = os.Mkdir(dir, 0o700)
	return dir, func() { _ = os.RemoveAll(dir) }, err
}
