package launch

import (
	"context"
	"fmt"
	"math"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/aft/internal/proc"
	"github.com/craft-go/craft/internal/logqueue"
	"github.com/craft-go/craft/internal/osstring"
)

// root runs a job: a monitor around control.Root.
type root struct {
	plan    *plan
	log     logqueue.Logger // nothing waits for its output
	starter *starter
	streams [2]*printer
	number  int                    // of deployments before
	nodes   map[control.Node]*node // but those that are gone
	watched sync.WaitGroup         // one for each node

	mu        sync.Mutex
	machine   *control.Root
	timer     *time.Timer
	due       time.Time // when timer was to fire
	originals map[control.Proc]control.Original
	end       *control.End
	ended     chan struct{}                // closed when end is set
	cutOff    map[control.Node]*time.Timer // after the end: for nodes that are not heard of
	kills     impatience                   // SIGINT and SIGTERM so far
	ahead     advance
	unread    bool          // output has met a broken pipe
	abandoned chan struct{} // closed when no output is to be waited for any more
}

// newRoot is that of a deployment, whose output goes to streams; past is nil for the first one.
func newRoot(p *plan, past *control.Past, streams [2]*printer) (*root, error) {
	machine, err := control.NewRoot(p.rootConfig(past))
	if err != nil {
		return nil, configError(err)
	}
	r := &root{
		plan: p, log: logqueue.New(p.Logger), machine: machine, starter: newStarter(), streams: streams, number: past.Deployments(),
		originals: make(map[control.Proc]control.Original), ended: make(chan struct{}), abandoned: make(chan struct{}),
		nodes: make(map[control.Node]*node), cutOff: make(map[control.Node]*time.Timer),
	}
	r.timer = time.AfterFunc(time.Hour, func() { r.do((*control.Root).Tick) })
	for i := range p.nodes {
		id := control.Node(i)
		if past.Gone(id) {
			continue
		}
		n, err := newNode(p, id)
		if err != nil {
			r.release()
			return nil, fmt.Errorf("pipes to the daemons of %d nodes: %w%s", len(p.nodes), err, proc.LimitHint(err))
		}
		r.nodes[id] = n
	}
	return r, nil
}

// run runs the job to its end.
func (r *root) run(ctx context.Context) control.End {
	r.mu.Lock()
	r.perform(r.machine.Begin(time.Now()))
	r.arm()
	r.mu.Unlock()
	for _, n := range r.nodes {
		r.watched.Go(func() { r.watch(n) })
	}
	select {
	case <-r.ended:
	case <-ctx.Done():
		r.stop(control.End{Code: exitFailed, Report: "the job was cancelled: " + context.Cause(ctx).Error()})
	}
	return *r.end
}

// watch starts a node and follows it to its end.
func (r *root) watch(n *node) {
	if err := n.start(r.starter); err != nil {
		r.lost(n, err.Error()+proc.LimitHint(err), true)
		return
	}
	why, certain := n.watch(
		func(m control.Message) { r.handle(n, m) },
		func(text string) { r.log.Warn(text, "node", n.id, "host", n.Host) },
	)
	if n.Local && n.path == "" {
		_ = os.RemoveAll(temporaryNodeDir(r.plan.job, n.id)) // the daemon has done it unless it was killed
	}
	r.mu.Lock()
	n.unsure, n.cut = n.doubt(certain)
	unborn := n.unborn()
	r.mu.Unlock()
	if unborn != 0 {
		r.do(func(m *control.Root, now time.Time) []control.Action { return m.Unborn(now, unborn, n.id) })
	}
	r.lost(n, why, certain)
}

func (r *root) lost(n *node, why string, certain bool) {
	r.do(func(m *control.Root, now time.Time) []control.Action { return m.Lost(now, n.id, why, certain) })
}

// handle takes a message from a node.
func (r *root) handle(n *node, m control.Message) {
	if m.Kind == control.KindOutput {
		r.print(n, m.Output)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n.spoken = true
	if r.end == nil {
		r.noteStop()
		r.perform(r.machine.Handle(time.Now(), n.id, m))
		r.arm()
		r.easeOutput()
		return
	}
	r.cutOff[n.id].Reset(r.patience())
	if m.Kind == control.KindPulse { // the daemon still sends output: it is to know that it is waited for
		r.send(n, control.Message{Kind: control.KindPulse, Pulse: &control.Pulse{Seq: m.Pulse.Seq}})
	}
}

// exitCode is that of the job; that of a program that dies of a broken pipe where nothing
// else has asked for the end.
func (r *root) exitCode() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unread && r.machine.Unheard() {
		return 128 + int(syscall.SIGPIPE)
	}
	return r.end.Code
}

// do gives the machine an event and carries out what it wants.
func (r *root) do(event func(m *control.Root, now time.Time) []control.Action) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end == nil {
		r.noteStop()
		r.perform(event(r.machine, time.Now()))
		r.arm()
		r.easeOutput()
	}
}

// arm sets the timer to when the machine wants to be asked.
func (r *root) arm() {
	if r.due = r.machine.Next(); r.end == nil && !r.due.IsZero() {
		r.timer.Reset(time.Until(r.due))
	} else {
		r.timer.Stop()
	}
}

// noteStop tells the user that this process did not run when it should have: batch
// systems suspend jobs, and what is lost then is else put down to the nodes.
func (r *root) noteStop() {
	if t := r.plan.Timing; !r.due.IsZero() && time.Since(r.due) > t.Lease/2 {
		r.log.Warn("the launcher was held up: the job was suspended, or the machine is overloaded; what is not heard of for the lease (--lease) is lost",
			"late", time.Since(r.due).Round(time.Millisecond), "lease", t.Lease)
	}
}

func (r *root) perform(actions []control.Action) {
	for _, a := range actions {
		switch {
		case a.Send != nil:
			if err := r.nodes[a.Send.Node].box.putOf(a.Send.Body, r.completed(*a.Send)); err != nil { // everybody would wait for it
				r.stopNow(control.End{Code: exitFailed, Report: fmt.Sprintf("a message to the daemon of node %d: %v", a.Send.Node, err)})
			}
		case a.Fence != nil:
			r.nodes[*a.Fence].fence()
		case a.Note != nil:
			r.log.Log(context.Background(), a.Note.Level, a.Note.Text, a.Note.Attrs...)
		case a.End != nil && r.end == nil:
			r.finishWith(*a.End)
		}
	}
}

// completed fills in what only the launcher knows, and remembers who is who.
func (r *root) completed(s control.Send) control.Message {
	m := s.Message
	switch m.Kind {
	case control.KindSetup:
		own := *m.Setup
		own.NodePath = osstring.String(r.nodes[s.Node].path)
		m.Setup = &own
	case control.KindStart:
		for _, start := range m.Start {
			r.originals[start.Proc] = start.Original
		}
	case control.KindPeers: // a spare rank may have become another one
		for _, p := range m.Peers {
			r.originals[p.Proc] = p.Original
		}
	}
	return m
}

func (r *root) send(n *node, m control.Message) {
	if err := n.box.put(m); err != nil {
		r.log.Error("a message to a daemon", "node", n.id, "kind", m.Kind, "error", err)
	}
}

// stop ends the job whatever it does.
func (r *root) stop(end control.End) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopNow(end)
}

// stopNow is stop with the lock held.
func (r *root) stopNow(end control.End) {
	if r.end != nil {
		return
	}
	for _, n := range r.nodes {
		r.send(n, control.Message{Kind: control.KindStop})
	}
	r.finishWith(end)
}

// finishWith is the end of the job: the daemons were told to stop. Those who are
// not heard of any more are killed, at once where nobody has answered yet: there
// may be an agent that hangs, and there are no ranks.
func (r *root) finishWith(end control.End) {
	r.end = &end
	r.timer.Stop()
	for _, n := range r.nodes {
		r.cutOff[n.id] = time.AfterFunc(r.patience(), n.fence)
		if !n.spoken {
			n.fence()
		}
	}
	close(r.ended)
}

// patience is how long a daemon that ends may be silent.
func (r *root) patience() time.Duration { return r.plan.Timing.Lease + 2*r.plan.Timing.Margin }

// finish returns when all daemons have ended, or ErrAbandoned if nobody wants to wait for output. Then a node
// whose start hangs in the system is not waited for for long.
func (r *root) finish() error {
	nodes := endOf(&r.watched)
	select {
	case <-nodes:
	case <-r.abandoned:
	case <-time.After(outputPatience):
		if next, _ := r.sequel(); next != nil {
			r.payAhead(math.MaxInt) // what comes is bounded by the pipes of ranks that were killed
		}
	}
	select {
	case <-nodes:
	case <-r.abandoned:
		select {
		case <-nodes:
		case <-time.After(closeTimeout):
			return ErrAbandoned
		}
	}
	for _, t := range r.cutOff {
		t.Stop()
	}
	r.release()
	return nil
}

func (r *root) release() {
	r.timer.Stop()
	r.mu.Lock()
	if r.ahead.timer != nil {
		r.ahead.timer.Stop()
	}
	r.mu.Unlock()
	for _, n := range r.nodes {
		n.release()
	}
	r.starter.close()
}

// sequel is what the next deployment begins with, when all has ended here; nil: there is none, and
// why tells more of that than the end.
func (r *root) sequel() (next *control.Past, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unread { // nobody is there who would want it
		return nil, ""
	}
	if next, why = r.machine.Sequel(r.plan.Restarts); next == nil && r.plan.FallBack {
		next = r.machine.FallBack()
	}
	if next == nil {
		return nil, why
	}
	for _, n := range r.nodes {
		if n.cut {
			next.Leave(n.id)
		}
	}
	return next, ""
}

// quiet is when nothing of this deployment runs any more: nodes whose end was not seen have leases.
func (r *root) quiet() (at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.nodes {
		if due := r.machine.Presumed(n.id); n.unsure && due.After(at) {
			at = due
		}
	}
	return at
}

// signal is a signal that this process has got.
func (r *root) signal(s syscall.Signal) {
	if s == syscall.SIGTSTP {
		r.log.Warn("the job goes on: SIGTSTP (Ctrl-Z, or a batch system that suspends it) is not followed, because what is stopped for the lease (--lease) is taken for dead",
			"lease", r.plan.Timing.Lease)
		return
	}
	if s == syscall.SIGQUIT {
		r.log.Warn("the ranks are asked for their stacks; one more SIGQUIT is for the launcher alone")
	}
	r.do(func(m *control.Root, now time.Time) []control.Action { return m.Signal(now, int(s)) })
	if s != syscall.SIGINT && s != syscall.SIGTERM {
		return
	}
	switch r.asks(s) {
	case interrupts:
		r.do((*control.Root).Interrupt)
	case 3:
		r.stop(control.End{Code: 128 + int(s), Report: "killed: third " + s.String() + " signal"})
	case 4:
		r.abandon()
	}
}
