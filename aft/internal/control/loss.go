package control

import (
	"fmt"
	"log/slog"
	"slices"
	"syscall"
	"time"
)

const sigkill = int(syscall.SIGKILL)

// killedCode is the exit code of a shell whose program was killed, which is no answer to a signal.
const killedCode = 128 + sigkill

// exits notes processes that have ended, and tells the others at once.
func (r *Root) exits(now time.Time, n *node, list []Exit) {
	var gone []*process
	for _, e := range list {
		p := r.procOf(n, e.Proc)
		if p == nil {
			continue
		}
		r.ledger.best.reach(e.Zone, e.Step)
		r.exit(now, p, e)
		gone = append(gone, p)
	}
	for _, p := range r.review(now) {
		if !slices.Contains(gone, p) {
			gone = append(gone, p)
		}
	}
	r.announceFailed(gone)
}

// exit tells how p has ended: see the package's documentation.
func (r *Root) exit(now time.Time, p *process, e Exit) {
	p.signal, p.silenced, p.panicked = e.Signal, e.Fenced, e.Panic != ""
	signal, forwarded := r.forwarded[e.Signal]
	asked := now.Add(-max(e.Ago, 0))
	if !p.outlived.IsZero() && p.outlived.Before(asked) { // that was its end
		asked = p.outlived
	}
	stop, patience := r.stopRequested(asked)
	switch {
	case p.discarded:
		p.leave(0)
	case p.bye && p.fenced && e.Signal == sigkill: // it was as good as gone
		p.leave(0)
	case p.bye:
		p.leave(e.jobCode())
	case e.Signal != 0 && forwarded:
		until := signal.told.Add(StopPatience)
		if !now.Before(until) {
			until = now.Add(StopPatience)
		}
		r.presume(now, p, e, e.after(e.Signal), until)
	case e.Signal == 0 && e.Code >= 0 && r.mayExit(p, e.Code):
		r.presume(now, p, e, fmt.Sprintf("exit status %d before the end of a zone", e.Code), patience)
	case stop != 0 && e.Code != killedCode && (!p.outlived.IsZero() || e.Signal == 0 && e.Code >= 0 && e.Panic == ""):
		r.presume(now, p, e, e.after(stop), patience)
	default:
		p.fail(e.reason(), e.cause(), e.jobCode())
		if r.world == 0 && e.Signal == 0 {
			r.end(1, fmt.Sprintf("rank %d on node %s has ended before the job's first communicator was made: %s", p.original, p.node.Name, p.reason))
		}
	}
}

// mayExit: an exit with this code is no failure.
func (r *Root) mayExit(p *process, code int) bool {
	switch {
	case r.world == 0:
		return p.state == starting // a program that does not join
	case p.settled == settledWithError:
		return true
	}
	return p.settled == settledWell && code == 0
}

// announceFailed tells all daemons of processes that have ended, before anything else.
func (r *Root) announceFailed(gone []*process) {
	var m Message
	for _, p := range gone {
		r.acquit(p)
		if p.announced && p.state == failed {
			m.Failed = append(m.Failed, p.id)
		}
		if p.announced && p.state == left {
			m.Left = append(m.Left, p.id)
		}
	}
	if len(m.Failed)+len(m.Left) > 0 && !r.ended {
		m.Kind = KindFailed
		r.broadcast(m)
	}
	for _, p := range gone {
		if p.state == failed && !r.ended {
			r.note(slog.LevelWarn, "a process has failed", "rank", int(p.original), "node", p.node.Name, "process", int(p.id), "reason", p.reason)
		}
	}
}

// fence kills a process, which is reported as usual when it has ended.
func (r *Root) fence(p *process, why string) {
	if p.present() && !p.fenced {
		p.fenced = true
		r.send(p.node, Message{Kind: KindSignal, Signal: &Signal{Number: sigkill, Procs: []Proc{p.id}, Why: why}})
	}
}

// Lost tells that the connection to a daemon has broken, or that it could not be
// made. certain: the daemon's own exit was seen on this machine, so that its
// processes are dead.
func (r *Root) Lost(now time.Time, from Node, why string, certain bool) []Action {
	n := r.node(from)
	if r.ended || n == nil || n.lost {
		return nil
	}
	if n.why != "" { // that was the reason
		why = n.why + " (" + why + ")"
	}
	switch {
	case !r.launched && !n.Spare:
		n.broken = true
		r.end(1, fmt.Sprintf("node %s could not be started: %s", n.Name, why))
		return r.take()
	case !n.ready:
		r.loseSpare(n, why)
		r.launch(now)
	case certain:
		r.declareLost(n, why)
	case !n.broken:
		n.broken, n.why = true, why
		r.fenceNode(n)
	}
	r.settle(now)
	return r.take()
}

// loseSpare: a spare node that has not reported never will, and the job goes without it.
func (r *Root) loseSpare(n *node, why string) {
	n.lost, n.why = true, why
	r.note(slog.LevelWarn, "a spare node could not be started", "node", n.Name, "reason", why)
}

// declareLost: a node is dead, and so is all that ran there.
func (r *Root) declareLost(n *node, why string) {
	n.lost, n.why = true, why
	r.note(slog.LevelWarn, "a node is lost", "node", n.Name, "reason", why)
	var gone []*process
	for _, p := range r.procs {
		if p.node != n || !p.present() {
			continue
		}
		p.lost = true
		if p.bye || p.discarded {
			p.leave(0)
		} else {
			p.fail("node lost: "+why, "node lost", 1)
		}
		gone = append(gone, p)
	}
	r.announceFailed(gone)
}
