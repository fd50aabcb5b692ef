package env

import (
	"os"
	"path/filepath"
	"strconv"
)

// DefaultNodePath is the node's own storage for who has not set CRAFT_NODE_PATH:
// this user's directory in the memory of the machine (/dev/shm), or where
// temporary files are. Nothing needs to be there.
func DefaultNodePath() string {
	base := "/dev/shm"
	if info, err := os.Stat(base); err != nil || !info.IsDir() {
		base = os.TempDir()
	}
	return filepath.Join(base, "craft-"+strconv.Itoa(os.Geteuid()))
}

// TemporaryNode is the name, as for path.Match, of the directory that the launcher
// makes for a node, and removes with the job, for who has named none.
const TemporaryNode = "craft-????????????????_????????-node-*"

// IsTemporaryNode reports whether a node's directory ends with the job.
func IsTemporaryNode(dir string) bool {
	match, _ := filepath.Match(TemporaryNode, filepath.Base(dir)) // an error is one of the pattern
	return match
}
