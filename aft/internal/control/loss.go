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
func (m *membership) exits(now time.Time, n *node, list []Exit) {
	var gone []*process
	for _, e := range list {
		if p := m.of(n, e.Proc); p != nil {
			m.exit(now, p, e)
			gone = append(gone, p)
		}
	}
	for _, p := range m.review(now) {
		if !slices.Contains(gone, p) {
			gone = append(gone, p)
		}
	}
	m.announceFailed(gone)
}

// exit tells how p has ended: see the package's documentation.
func (m *membership) exit(now time.Time, p *process, e Exit) {
	p.signal, p.silenced, p.evicted, p.panicked = e.Signal, e.Fenced, e.Evicted, e.Panic != ""
	p.died = place{progress{e.Zone, e.Step}, true}
	p.ended = now
	signal, forwarded := m.stops.forwarded[e.Signal]
	asked := now.Add(-max(e.Ago, 0))
	if !p.outlived.IsZero() && p.outlived.Before(asked) { // that was its end
		asked = p.outlived
	}
	stop, patience := m.stops.requested(asked)
	switch {
	case p.discarded, p.asleep():
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
		m.presume(now, p, e, e.after(e.Signal), until)
	case e.Signal == 0 && e.Code >= 0 && m.mayExit(p, e.Code):
		m.presume(now, p, e, fmt.Sprintf("exit status %d before the end of a zone", e.Code), patience)
	case m.stops.ending.asked() && e.Signal == 0 && e.Code >= 0 && e.Code != killedCode && e.Panic == "" && m.world != nil:
		m.exited(now, p, e)
	case stop != 0 && e.Code != killedCode && (!p.outlived.IsZero() || e.Signal == 0 && e.Code >= 0 && e.Panic == ""):
		m.presume(now, p, e, e.after(stop), patience)
	default:
		p.fail(e.reason(), e.cause(), e.jobCode())
		if m.world == nil && e.Signal == 0 {
			m.out.end(1, fmt.Sprintf("rank %d on node %s has ended before the job's first communicator was made: %s", p.original, p.node.Name, p.reason))
		}
	}
}

// mayExit: an exit with this code is no failure.
func (m *membership) mayExit(p *process, code int) bool {
	switch {
	case m.world == nil:
		return p.state == starting // a program that does not join
	case p.settled == settledWithError:
		return true
	}
	return p.settled == settledWell && code == 0
}

// announceFailed tells all daemons of processes that have ended, before anything else.
func (m *membership) announceFailed(gone []*process) {
	if len(gone) == 0 {
		return
	}
	m.present = slices.DeleteFunc(m.present, func(p *process) bool { return !p.present() })
	m.over = append(m.over, gone...)
	news := Message{Kind: KindFailed}
	for _, p := range gone {
		m.suspected.acquit(p)
		if p.announced && p.state == failed {
			news.Failed = append(news.Failed, p.id)
		}
		if p.announced && p.state == left {
			news.Left = append(news.Left, p.id)
		}
	}
	if len(news.Failed)+len(news.Left) > 0 {
		m.out.broadcast(news)
	}
	for _, p := range gone {
		if p.state == failed {
			m.out.note(slog.LevelWarn, "a process has failed", "rank", int(p.original), "node", p.node.Name, "process", int(p.id), "reason", p.reason)
		}
	}
}

// fence kills a process, which is reported as usual when it has ended.
func (m *membership) fence(p *process, why string) {
	if p.present() && !p.fenced {
		p.fenced = true
		m.out.send(p.node, Message{Kind: KindSignal, Signal: &Signal{Number: sigkill, Procs: []Proc{p.id}, Why: why}})
	}
}

// loseSpare: a spare node that has not reported never will, and the job goes without it. So it does
// without any node when it is deployed again.
func (m *membership) loseSpare(n *node, why string) {
	n.lost, n.why = true, why
	what := "a spare node could not be started"
	if !n.Spare {
		what = "a node could not be started again: the job does without it"
	}
	m.out.note(slog.LevelWarn, what, "node", n.Name, "reason", why)
}

// declareLost: a node is dead, and so is all that ran there.
func (m *membership) declareLost(n *node, why string) {
	n.lost, n.why = true, why
	m.out.note(slog.LevelWarn, "a node is lost", "node", n.Name, "reason", why)
	var gone []*process
	for _, p := range m.present {
		if p.node != n || !p.present() {
			continue
		}
		p.lost = true
		if p.bye || p.discarded || p.asleep() {
			p.leave(0)
		} else {
			p.fail("node lost: "+why, "node lost", 1)
		}
		gone = append(gone, p)
	}
	m.announceFailed(gone)
}
