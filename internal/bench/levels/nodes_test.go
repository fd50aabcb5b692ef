package levels

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/craft-go/craft/aft/comm"
)

// nodes says which ranks share a directory.
type nodes struct {
	dir   string // of this one
	mine  int
	count int
}

// findNodes makes the directory of this node, whose base is the same on all.
func findNodes(ctx context.Context, c *comm.Comm, base string) (nodes, error) {
	dir := os.Getenv("CRAFT_NODE_PATH")
	if dir == "" {
		dir = filepath.Join(base, fmt.Sprintf("node-%d", c.Rank()))
	}
	n := nodes{dir: filepath.Join(dir, "levels")}
	host, _ := os.Hostname()
	all, err := comm.AllgatherBytes(ctx, c, []byte(host+"\x00"+n.dir))
	if err != nil {
		return n, err
	}
	var different []string
	for rank, name := range all {
		at := slices.Index(different, string(name))
		if at < 0 {
			at, different = len(different), append(different, string(name))
		}
		if comm.Rank(rank) == c.Rank() {
			n.mine = at
		}
	}
	n.count = len(different)
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
