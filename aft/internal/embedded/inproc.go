package embedded

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/internal/demand"
)

// inprocCluster is a job whose processes are goroutines of this one, on nodes that are
// nothing but names: the same root and daemons as of a real job, called directly. Events
// are handled one at a time, by whoever finds nobody at it.
type inprocCluster struct {
	ctx    context.Context                          // of all bodies
	cancel context.CancelCauseFunc                  // of ctx
	start  func(ctx context.Context, p *inprocProc) // starts a body
	onLoss func(node int)
	named  bool // somebody has named the nodes

	events  inbox[func(now time.Time)]
	changed chan struct{} // something was handled: the timer may be wrong
	root    *control.Root
	nodes   []*inprocNode
	timer   *time.Timer // when the machines want to be asked; set in events only
	due     time.Time
	ended   *control.End
	over    chan struct{} // closed with ended

	mu    sync.RWMutex
	procs map[control.Proc]*inprocProc // those that run
}

// inprocProc is a process of such a job.
type inprocProc struct {
	ep   *endpoint
	node *inprocNode
	stop context.CancelCauseFunc // ends the body's context
	over func()                  // nobody waits for it any more
}

// inprocNode is a node of such a job.
type inprocNode struct {
	id     control.Node
	daemon *control.Daemon
	down   atomic.Bool // it was killed
}

// inprocTiming is that of a job in one process: nobody can be silent there, and who computes
// for days is not lost. The period is how long the first ones wait for the others before
// these are told that they do.
var inprocTiming = control.Timing{Period: 250 * time.Millisecond, Lease: control.NoLease}

// Node is a node of a job in one process.
type Node struct {
	Name string
	// Slots is how many ranks it takes; 0: any number.
	Slots int
	// Spare nodes get no rank at the start: they wait for replacements.
	Spare bool
}

func newInprocCluster(ctx context.Context, cfg InprocConfig) (*inprocCluster, error) {
	if cfg.Ranks < 1 {
		return nil, fmt.Errorf("%w, not %d", ErrSize, cfg.Ranks)
	}
	named := len(cfg.Nodes) > 0
	if !named {
		cfg.Nodes = []Node{{Name: "node0"}}
	}
	c := &inprocCluster{
		onLoss: cfg.OnLoss, named: named, procs: make(map[control.Proc]*inprocProc),
		changed: make(chan struct{}, 1), over: make(chan struct{}),
	}
	var nodes []control.NodeConfig
	for i, n := range cfg.Nodes {
		nodes = append(nodes, control.NodeConfig{Name: n.Name, Host: "localhost", Slots: n.Slots, Spare: n.Spare, Local: true})
		c.nodes = append(c.nodes, &inprocNode{id: control.Node(i)})
	}
	var err error
	c.root, err = control.NewRoot(control.RootConfig{Size: cfg.Ranks, Timing: inprocTiming, Nodes: nodes})
	if err != nil {
		return nil, err
	}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.timer = time.NewTimer(time.Hour)
	c.timer.Stop()
	return c, nil
}

// post has an event handled, and returns when nobody is at it any more or
// somebody else is.
func (c *inprocCluster) post(event func(now time.Time)) {
	c.handle(event)
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

func (c *inprocCluster) handle(event func(now time.Time)) {
	if c.events.put(event) {
		c.events.run(func(next func(time.Time)) { next(time.Now()) })
	}
}

// farthest is how far ahead the machines are asked: what is later is a lease that never ends.
const farthest = 365 * 24 * time.Hour

// arm sets the timer to when one of the machines wants to be asked.
func (c *inprocCluster) arm() {
	next := c.root.Next()
	for _, n := range c.nodes {
		if n.daemon == nil || n.down.Load() {
			continue
		}
		if t := n.daemon.Next(); !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	switch {
	case next.Equal(c.due):
	case next.IsZero() || time.Until(next) > farthest:
		c.timer.Stop()
	default:
		c.timer.Reset(time.Until(next))
	}
	c.due = next
}

// keepTime asks the machines when they want to be asked, until the job is done: once for
// all that happens at about the same time, since each time it looks at all ranks.
func (c *inprocCluster) keepTime(done <-chan struct{}) {
	for {
		select {
		case <-c.changed:
			runtime.Gosched() // more may happen
			c.handle(func(time.Time) { c.arm() })
		case <-c.timer.C:
			c.post(func(now time.Time) {
				c.due = time.Time{}
				c.rootActions(c.root.Tick(now))
				for _, n := range c.nodes {
					if n.daemon != nil && !n.down.Load() {
						c.daemonActions(n, n.daemon.Tick(now))
					}
				}
			})
		case <-done:
			return
		}
	}
}

// begin starts the job; begun is called before any of its ranks runs: this goroutine may have to handle events of theirs
// before it returns.
func (c *inprocCluster) begin(begun func()) {
	c.post(func(now time.Time) {
		c.rootActions(c.root.Begin(now))
		begun()
	})
}

// ask asks the job for something.
func (c *inprocCluster) ask(d demand.Demand) {
	c.post(func(now time.Time) { c.rootActions(c.root.Ask(now, d)) })
}

// wait returns when the job has ended and nothing is started any more.
func (c *inprocCluster) wait() {
	<-c.over
	handled := make(chan struct{})
	c.post(func(time.Time) { close(handled) })
	<-handled
}

func (c *inprocCluster) rootActions(actions []control.Action) {
	for _, a := range actions {
		switch {
		case a.Send != nil:
			c.send(a.Send.Node, a.Send.Message)
		case a.Fence != nil:
			c.killNode(*a.Fence)
		case a.End != nil && c.ended == nil:
			c.ended = a.End
			close(c.over)
			if a.End.Code != 0 {
				c.cancel(fmt.Errorf("%w: %s", ErrControl, a.End.Report))
			}
		}
	}
}

// send brings a message of the root to a daemon.
func (c *inprocCluster) send(to control.Node, m control.Message) {
	n := c.nodes[to]
	if m.Kind == control.KindSetup {
		n.daemon = control.NewDaemon(*m.Setup)
		c.toRoot(to, control.Message{Kind: control.KindReady, Ready: &control.Ready{Version: control.Version}})
	}
	if m.Made != nil && m.Made.New != nil {
		c.enter(*m.Made)
	}
	c.toDaemon(n, func(now time.Time) []control.DaemonAction { return n.daemon.FromRoot(now, m) })
}

// enter gives all processes a communicator before the first of them can send to another.
func (c *inprocCluster) enter(m control.Made) {
	if m.New.Since != nil {
		m = c.whole(m)
	}
	for _, p := range m.New.Procs {
		if e := c.endpoint(p); e != nil {
			e.enter(m)
		}
	}
}

// whole is an outcome as one of those knows it who have joined the operation; as it is if none of them is left.
func (c *inprocCluster) whole(m control.Made) control.Made {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, p := range c.procs {
		if whole, err := p.ep.whole(m); err == nil {
			return whole
		}
	}
	return m
}

func (c *inprocCluster) toRoot(from control.Node, m control.Message) {
	c.post(func(now time.Time) { c.rootActions(c.root.Handle(now, from, m)) })
}

// toDaemon has an event of a node handled, unless the node is down.
func (c *inprocCluster) toDaemon(n *inprocNode, event func(now time.Time) []control.DaemonAction) {
	c.post(func(now time.Time) {
		if !n.down.Load() {
			c.daemonActions(n, event(now))
		}
	})
}

func (c *inprocCluster) daemonActions(n *inprocNode, actions []control.DaemonAction) {
	for _, a := range actions {
		switch {
		case a.ToRoot != nil:
			c.toRoot(n.id, *a.ToRoot)
		case a.ToRank != nil:
			if e := c.endpoint(a.ToRank.Proc); e != nil {
				if err := e.handle(a.ToRank.Message); err != nil {
					c.cancel(err)
					c.endBecause(a.ToRank.Proc, control.Exit{Code: -1, Signal: 9, Why: err.Error()}, err)
				}
			}
		case a.Start != nil:
			c.open(n, *a.Start)
		case a.Kill != nil && a.Kill.Signal == 9:
			c.exit(a.Kill.Proc, control.Exit{Code: -1, Signal: 9, Why: a.Kill.Why})
		}
	}
}

// open starts a process.
func (c *inprocCluster) open(n *inprocNode, s control.Start) {
	e := newEndpoint(s.Proc, s.Original)
	own, stop := context.WithCancelCause(c.ctx)
	p := &inprocProc{ep: e, node: n, stop: stop}
	e.peer = c.endpoint
	e.up = func(m control.Message) { c.fromRank(p, m) }
	if c.named {
		e.at = c.nodeOf
	}
	e.lease = func() error {
		select {
		case <-e.over:
			return driver.ErrFenced
		default:
			return nil
		}
	}
	c.mu.Lock()
	if n.down.Load() {
		c.mu.Unlock()
		stop(ErrKilled)
		return
	}
	c.procs[s.Proc] = p
	c.mu.Unlock()
	c.start(own, p)
	c.fromRank(p, control.Message{Kind: control.KindHello, Hello: &control.Hello{Proc: s.Proc, Version: control.Version}})
}

func (c *inprocCluster) fromRank(p *inprocProc, m control.Message) {
	c.toDaemon(p.node, func(now time.Time) []control.DaemonAction { return p.node.daemon.FromRank(now, p.ep.self, m) })
}

// end ends the endpoint of a process, which nobody finds from then on. It reports whether
// that was not so before.
func (c *inprocCluster) end(p *inprocProc, why error) bool {
	if !p.ep.close(why) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.procs, p.ep.self)
	return true
}

// exit ends a process.
func (c *inprocCluster) exit(id control.Proc, x control.Exit) { c.endBecause(id, x, ErrKilled) }

// endBecause ends a process, whose operations return why.
func (c *inprocCluster) endBecause(id control.Proc, x control.Exit, why error) {
	p := c.proc(id)
	if p == nil || !c.end(p, why) {
		return
	}
	p.stop(why)
	c.exited(p, x)
}

func (c *inprocCluster) exited(p *inprocProc, x control.Exit) {
	x.Proc = p.ep.self
	x.Zone, x.Step = p.ep.progress.now()
	c.toDaemon(p.node, func(now time.Time) []control.DaemonAction { return p.node.daemon.Exited(now, x) })
}

// leave ends a process normally.
func (c *inprocCluster) leave(p *inprocProc, rank int) {
	if !c.end(p, errLeft(rank)) {
		return
	}
	c.fromRank(p, control.Message{Kind: control.KindBye, Bye: &control.Bye{Proc: p.ep.self}})
	c.exited(p, control.Exit{Code: 0})
}

// killNode ends a node with all that runs there, as the loss of its machine does.
func (c *inprocCluster) killNode(id control.Node) {
	if !c.takeDown(id) {
		return
	}
	defer c.post(func(now time.Time) { c.rootActions(c.root.Lost(now, id, "the node was killed", true)) })
	if c.onLoss != nil {
		c.onLoss(int(id))
	}
}

// takeDown ends what runs on a node. It reports whether the node was up.
func (c *inprocCluster) takeDown(id control.Node) bool {
	c.mu.Lock()
	was := c.nodes[id].down.Swap(true)
	var there []*inprocProc
	for _, p := range c.procs {
		if p.node.id == id {
			there = append(there, p)
		}
	}
	c.mu.Unlock()
	for _, p := range there {
		if c.end(p, ErrKilled) {
			p.stop(ErrKilled)
		}
	}
	return !was
}

// present is the process of an original rank that runs.
func (c *inprocCluster) present(original control.Original) (id control.Proc, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for id, p := range c.procs {
		if p.ep.original == original {
			return id, true
		}
	}
	return 0, false
}

// proc is a process that runs, or nil.
func (c *inprocCluster) proc(id control.Proc) *inprocProc {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.procs[id]
}

func (c *inprocCluster) endpoint(id control.Proc) *endpoint {
	if p := c.proc(id); p != nil {
		return p.ep
	}
	return nil
}

func (c *inprocCluster) nodeOf(id control.Proc) int {
	if p := c.proc(id); p != nil {
		return int(p.node.id)
	}
	return -1
}
