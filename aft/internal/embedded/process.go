package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/aft/internal/pipe"
	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/internal/logqueue"
)

// ErrNoJob is returned by Join when no launcher has started this process as a
// rank.
var ErrNoJob = errors.New("this process was not started as a rank of a job")

// startLimit is how long a rank waits for the first message of its daemon.
const startLimit = 30 * time.Second

// Join makes this process a rank of the job whose launcher has started it. It
// returns when all ranks have joined. It can be called once. From then on the process
// lives as long as its daemon does, and its lease.
func Join(ctx context.Context, log *slog.Logger) (driver.Session, error) {
	if env.TakeRole() != env.RoleRank {
		return nil, ErrNoJob
	}
	conn, err := connect()
	if err != nil {
		return nil, err
	}
	if !conn.claim() {
		return nil, errors.Join(errSecond, conn.Close())
	}
	if err := conn.SetReadDeadline(time.Now().Add(startLimit)); err != nil {
		return nil, err
	}
	m, err := control.ReadMessage(conn)
	switch {
	case errors.Is(err, control.ErrVersion):
		return nil, fmt.Errorf("%w: the launcher's first message: %w", ErrControl, err)
	case err == nil && m.Setup == nil, err != nil && !errors.Is(err, os.ErrDeadlineExceeded): // what the other one has left
		return nil, errSecond
	case err != nil:
		return nil, fmt.Errorf("%w: no word from the daemon: %w", ErrControl, err)
	case len(m.Start) != 1:
		return nil, fmt.Errorf("%w: the daemon began with %q", ErrControl, m.Kind)
	}
	if err := errors.Join(conn.verify(m.Setup.Up), conn.SetReadDeadline(time.Time{})); err != nil {
		return nil, err
	}
	return newProcess(ctx, conn, *m.Setup, m.Start[0], log)
}

// process is this process as a rank.
type process struct {
	ep    *endpoint
	wire  *wire
	conn  connection
	lease *lease
	log   *slog.Logger // nothing waits for its output

	reading sync.Mutex
	over    bool                   // nothing more can be read; under reading
	decided inbox[control.Message] // by the root
	writing sync.Mutex
	inherited
	asleep bool // it stands for no rank yet; of the one who executes
	tasks  sync.WaitGroup
	left   atomic.Bool
	leave  func() // what this process is asked for is nothing to the job any more
}

func newProcess(ctx context.Context, conn connection, setup control.Setup, start control.Start, log *slog.Logger) (driver.Session, error) {
	e := newEndpoint(start.Proc, start.Original)
	p := &process{ep: e, conn: conn, log: logqueue.New(log).With("proc", start.Proc), lease: newLease(setup)}
	var err error
	// The root comes first: it may have heard nothing of that host either.
	silence := setup.Timing.Lease + 2*setup.Timing.Margin
	cfg := wireConfig{
		Config: pipe.Config{Job: setup.Job, Secret: setup.Secret, Self: uint32(start.Proc), Silence: silence, Log: p.log},
		Host:   setup.Address, Receiver: e, Suspect: p.suspect, Unreachable: e.abandon,
		Patience: max(minPatience, 2*silence),
		Spin:     spinBudget((setup.Size + max(1, setup.Hosts) - 1) / max(1, setup.Hosts)),
	}
	if setup.Hosts > 1 {
		cfg.Listen = net.JoinHostPort(setup.Address, "0")
	}
	p.wire, err = newWire(cfg)
	if err != nil {
		return nil, err
	}
	e.wire, e.up, e.lease, e.at = p.wire, p.send, p.lease.check, p.wire.nodeOf
	if p.asleep = start.Original == control.Asleep; !p.asleep {
		p.keepLease()
	}
	p.listen()
	address, tcp := p.wire.addresses()
	p.send(control.Message{Kind: control.KindHello, Hello: &control.Hello{
		Proc: start.Proc, Version: control.Version, Address: address, TCP: tcp, Takes: takes(),
	}})
	p.leave = demand.This.Belong(e.point)
	s := &session{ep: e, own: p}
	s.place.Node, s.place.Job, s.place.Daemon = int(setup.Node), setup.Job, setup.Daemon
	if err := s.begin(ctx); err != nil {
		return nil, errors.Join(err, p.close(ctx))
	}
	return s, nil
}

// listen takes what the daemon says. The lease waits for nothing: two goroutines take
// turns, and while one does what the root has decided the other one reads.
func (p *process) listen() {
	for range 2 {
		p.tasks.Go(func() {
			for p.read() {
				p.decided.run(p.execute)
			}
		})
	}
}

// read returns true when there is something to be done, and false in the end.
func (p *process) read() bool {
	p.reading.Lock()
	defer p.reading.Unlock()
	for !p.over {
		m, err := control.ReadMessage(p.conn)
		switch {
		case err != nil:
			p.over = true
			p.decided.close()
			p.lost(err)
		case m.Kind == control.KindPulse:
			p.lease.renew(*m.Pulse)
		case p.decided.put(m):
			return true
		}
	}
	return false
}

func (p *process) execute(m control.Message) {
	switch m.Kind {
	case control.KindStack:
		p.send(control.Message{Kind: control.KindStack, Stack: &control.Stack{Proc: p.ep.self, Text: p.ep.progress.stack()}})
	case control.KindBequest:
		p.inherited.add(m.Bequests)
	case control.KindPeers:
		p.wire.addPeers(m.Peers)
		p.wake(m.Peers)
	default:
		if err := p.ep.handle(m); err != nil {
			p.fenced(err.Error())
		}
	}
}

// wake begins the life of a spare rank when it is told what it stands for.
func (p *process) wake(peers []control.Peer) {
	i := slices.IndexFunc(peers, func(q control.Peer) bool { return q.Proc == p.ep.self })
	if !p.asleep || i < 0 {
		return
	}
	p.asleep = false
	p.ep.original = peers[i].Original
	p.lease.wake()
	p.keepLease()
}

func (p *process) keepLease() {
	p.tasks.Go(func() { p.lease.keep(p.pulse, p.ep.over, p.fenced) })
}

// send tells the daemon something. A daemon that does not read is one that this
// process will not survive.
func (p *process) send(m control.Message) {
	p.writing.Lock()
	err := control.WriteMessage(p.conn, m)
	p.writing.Unlock()
	switch {
	case err == nil || p.left.Load():
	case errors.Is(err, control.ErrMessage): // everybody would wait for it
		p.fenced(err.Error())
	default:
		p.log.Debug("not sent to the daemon", "kind", m.Kind, "error", err)
	}
}

func (p *process) pulse(seq uint64) {
	zone, step := p.ep.progress.now()
	p.send(control.Message{Kind: control.KindPulse, Pulse: &control.Pulse{Seq: seq, Zone: zone, Step: step}})
}

func (p *process) suspect(proc control.Proc, why error) {
	p.send(control.Message{Kind: control.KindSuspect, Suspect: &control.Suspect{
		Proc: proc, Why: why.Error(), Cut: pipe.IsSilence(why),
	}})
}

// lost: the daemon is no longer there.
func (p *process) lost(err error) {
	if errors.Is(err, io.EOF) {
		err = errors.New("it has ended")
	}
	p.fenced(fmt.Sprintf("connection to the daemon lost: %v", err))
}

// lastMessage is how long a process that ends itself waits for its daemon to hear of it.
const lastMessage = 10 * time.Millisecond

// fenced ends this process, because another one may take its place. The daemon is told
// before, if it listens: the program has done nothing wrong.
func (p *process) fenced(why string) {
	if p.left.Load() {
		return
	}
	_ = p.conn.SetWriteDeadline(time.Now().Add(lastMessage)) // it may be closed
	p.suspect(p.ep.self, errors.New(why))
	p.end(why)
}

// evictLimit is how long a process that is in the way of a roll-back waits for its daemon.
const evictLimit = 10 * time.Second

// evict ends this process, in whose place another one is started. The daemon hears before where it is, what it
// leaves, and that the program has not failed; then it kills this process.
func (p *process) evict(why string, leaves []driver.Bequest) {
	if p.left.Load() {
		return
	}
	limit := time.Now().Add(evictLimit)
	_ = p.conn.SetWriteDeadline(limit)
	p.send(control.Message{Kind: control.KindStack, Stack: &control.Stack{Proc: p.ep.self, Text: p.ep.progress.stack()}})
	if len(leaves) > 0 {
		p.send(control.Message{Kind: control.KindBequest, Bequests: leaves})
	}
	p.send(control.Message{Kind: control.KindSuspect, Suspect: &control.Suspect{Proc: p.ep.self, Why: why, Evicted: true}})
	time.Sleep(time.Until(limit))
	p.end(why)
}

// end ends this process and what it has started, at once.
func (p *process) end(why string) {
	if p.left.Load() {
		return
	}
	lastWords(p.ep.self, why)
	pid := os.Getpid()
	if group, err := syscall.Getpgid(pid); err == nil && group == pid {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// close says good-bye and waits for this process's goroutines.
func (p *process) close(ctx context.Context) error {
	if p.left.Swap(true) {
		return nil
	}
	p.leave()
	err := p.wire.flush(ctx)
	p.send(control.Message{Kind: control.KindBye, Bye: &control.Bye{Proc: p.ep.self}})
	p.ep.close(driver.ErrClosed)
	p.wire.close()
	err = errors.Join(err, p.conn.Close())
	p.tasks.Wait()
	return err
}
