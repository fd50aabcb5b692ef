package afttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/embedded"
	"github.com/craft-go/craft/internal/demand"
)

// ErrCluster is returned by Run for a cluster that cannot be.
var ErrCluster = errors.New("afttest: no such cluster")

// Cluster is nodes that jobs run on, one job at a time. It outlives them as machines do.
// The zero Cluster is one node without a directory.
type Cluster struct {
	// Nodes is how many there are at first. Ranks are placed on them in blocks. 0: one, which
	// no communicator tells of (comm.Comm.Nodes), unless there are Spares or Slots.
	Nodes int
	// Spares are further ones, behind the others in number, that get no rank at the
	// start.
	Spares int
	// Slots is how many ranks a node takes; 0: any number.
	Slots int
	// Dir is where the nodes have their directories (Rank.NodeDir); "": they have none.
	Dir string
	// OnLoss, if not nil, is called when a node was killed: when its ranks are dead and its
	// directory is gone, and before any other rank is told of it. Until then there is no
	// recovery; a message to one of its ranks fails at once.
	OnLoss func(node int)

	mu    sync.Mutex
	lives map[int]int         // machines that each node has been before
	ask   func(demand.Demand) // of the present job
}

// Ask asks the job that runs for something, as a signal at its launcher would. Without a job it does nothing.
func (c *Cluster) Ask(d demand.Demand) {
	c.mu.Lock()
	ask := c.ask
	c.mu.Unlock()
	if ask != nil {
		ask(d)
	}
}

func (c *Cluster) begun(ask func(demand.Demand)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ask = ask
}

// Run runs a job of some ranks and returns when all of them have ended, replacements
// included. The errors of bodies count, but for those of ranks that were killed; the first
// of them is returned, and does not end the others. Which error of its own a program has in
// a zone is looked at in the body: of a *aft.BodyError all ranks but one have the text alone.
func (c *Cluster) Run(ctx context.Context, ranks int, body func(ctx context.Context, r *Rank) error) error {
	if c.Nodes < 0 || c.Spares < 0 {
		return fmt.Errorf("%w: %d nodes and %d spares", ErrCluster, c.Nodes, c.Spares)
	}
	cfg := embedded.InprocConfig{Ranks: ranks, OnLoss: c.lose, Begun: c.begun}
	defer c.begun(nil)
	for i := range c.size() {
		if err := c.makeDir(i); err != nil {
			return err
		}
		if c.Nodes == 0 && c.Spares == 0 && c.Slots == 0 {
			break
		}
		cfg.Nodes = append(cfg.Nodes, embedded.Node{Name: fmt.Sprintf("node%d", i), Slots: c.Slots, Spare: i >= c.regular()})
	}
	return embedded.RunInproc(ctx, cfg, func(ctx context.Context, r *embedded.InprocRank) error {
		s := comm.NewSession(r.Session())
		defer s.Zone().Release()
		return body(comm.WithSession(ctx, s), &Rank{job: r, cluster: c, node: s.Place().Node, session: s})
	})
}

func (c *Cluster) regular() int { return max(c.Nodes, 1) }
func (c *Cluster) size() int    { return c.regular() + c.Spares }

// NodeDir is the directory of the machine that a node is now; "" without Dir.
func (c *Cluster) NodeDir(node int) string {
	if c.Dir == "" {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	name := fmt.Sprintf("node%d", node)
	if n := c.lives[node]; n > 0 {
		name = fmt.Sprintf("%s.%d", name, n)
	}
	return filepath.Join(c.Dir, name)
}

// Replace puts an empty machine in the place of a node, between two jobs.
func (c *Cluster) Replace(node int) error {
	if err := c.removeDir(node); err != nil {
		return err
	}
	return c.makeDir(node)
}

func (c *Cluster) makeDir(node int) error {
	dir := c.NodeDir(node)
	if dir == "" {
		return nil
	}
	return os.MkdirAll(dir, 0o700)
}

// removeDir gives the node another directory: what still runs of the old one finds none.
func (c *Cluster) removeDir(node int) error {
	dir := c.NodeDir(node)
	c.mu.Lock()
	if c.lives == nil {
		c.lives = make(map[int]int)
	}
	c.lives[node]++
	c.mu.Unlock()
	return os.RemoveAll(dir) // does nothing for ""
}

// lose is what the death of a node does beyond its ranks. A rank that is about to end may write
// while the directory goes: then some of it stays, where nobody looks.
func (c *Cluster) lose(node int) {
	_ = c.removeDir(node)
	if c.OnLoss != nil {
		c.OnLoss(node)
	}
}

// Run runs a job of n ranks in which nothing fails, each with its communicator. The first
// error of a body ends the contexts of the others, and is returned.
func Run(ctx context.Context, n int, body func(ctx context.Context, c *comm.Comm) error) error {
	return embedded.Run(ctx, n, func(ctx context.Context, c driver.Comm) error { return body(ctx, comm.New(c)) })
}
