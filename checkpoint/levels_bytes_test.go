package checkpoint

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A path holds any bytes, and JSON only text: what is on the nodes is found again under
// a home and nodes whose names are no text.
func TestPathsThatAreNotText(t *testing.T) {
	n := newTestNodes(t, eightOnFour...)
	n.dir = filepath.Join(n.dir, "\xff\xfe")
	if err := os.Mkdir(n.dir, 0o700); err != nil {
		t.Skip("no file system for such names:", err)
	}
	n.job(t, "partner", 3, none)
	n.lose(t, 1)
	require.Contains(t, n.job(t, "partner", 5, none), "iteration=2")
	n.killed(t, "partner", 6, none) // its nodes are known to be those that are here
	log := n.job(t, "partner", 8, none, WithStrict())
	require.Contains(t, log, "iteration=5")
	require.NotContains(t, log, "other nodes")
}
