package levels

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/craft-go/craft/aft/comm"
)

// nodes are those of the job.
type nodes struct {
	dir   string // of this one
	mine  int
	count int
}

// findNodes makes the directory of this node. Who has started this program alone has given its base.
func findNodes(c *comm.Comm, base string) (nodes, error) {
	dir := cmp.Or(os.Getenv("CRAFT_NODE_PATH"), filepath.Join(base, "node-0"))
	n := nodes{dir: filepath.Join(dir, "levels")}
	all := c.Nodes()
	different := slices.Compact(slices.Sorted(slices.Values(all)))
	n.mine, n.count = slices.Index(different, all[c.Rank()]), len(different)
	return n, os.MkdirAll(n.dir, 0o700)
}

// of is this node's directory for one of the things that are measured.
func (n nodes) of(what string) string { return filepath.Join(n.dir, what) }

// clean deletes what the nodes and the parallel file system have, when all are
// done with it.
func (j *job) clean(ctx context.Context) error {
	if err := comm.Barrier(ctx, j.c); err != nil {
		return err
	}
	err := os.RemoveAll(j.nodes.dir)
	if j.print {
		err = errors.Join(err, os.RemoveAll(j.home()))
	}
	return errors.Join(err, comm.Barrier(ctx, j.c))
}

// home stands for the parallel file system.
func (j *job) home() string { return filepath.Join(j.path, "levels") }
