package embedded

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/aft/internal/pipe"
)

// wireConfig is what a wire needs to know.
type wireConfig struct {
	pipe.Config
	Host string // of this process, as in control.Peer
	// Listen is the TCP address for processes of other hosts, such as
	// "10.0.0.1:0"; "": there are none.
	Listen   string
	Receiver receiver
	// Suspect is told, once for each process, that the connection to it has broken,
	// or that its host does not answer. What is under way to and from it waits for
	// drop. It is called without locks, and must not call close.
	Suspect func(p control.Proc, why error)
	// Unreachable is told that a process which is alive cannot be connected to:
	// messages for it are lost. Called as Suspect is.
	Unreachable func(why error)
	// Patience is how long a connection may not come about for other reasons than silence, with a
	// process that nobody has declared failed: see reach.go.
	Patience time.Duration
	// Spin is how long a wait looks for messages itself before it sleeps: see
	// spinBudget.
	Spin time.Duration
}

// wire is the transport between processes. For each process that this one talks
// to there are up to two links, one for each direction, each with a pipe of its
// own: out is made by this process when it first has something to say, in by the
// other.
//
// Locks are taken in this order: inlink.mu, the receiver's, outlink.mu or
// wire.mu; the short ones (inlink.parts, instream.mu) last. A request is
// completed without any but inlink.mu.
type wire struct {
	cfg    wireConfig
	listen *pipe.Listener
	work   sync.WaitGroup // of all goroutines
	ctx    context.Context
	stop   context.CancelFunc

	outs     atomic.Pointer[map[control.Proc]*outlink] // replaced, never changed
	ins      atomic.Pointer[[]*inlink]                 // replaced, never changed
	spinning atomic.Int32                              // how many spin

	mu        sync.Mutex // of what follows, and of replacing what is above
	closed    bool
	peers     map[control.Proc]control.Peer
	gone      map[control.Proc]bool
	suspected map[control.Proc]bool
}

var _ transport = (*wire)(nil)

// newWire listens for other processes.
func newWire(cfg wireConfig) (*wire, error) {
	w := &wire{
		cfg:       cfg,
		peers:     make(map[control.Proc]control.Peer),
		gone:      make(map[control.Proc]bool),
		suspected: make(map[control.Proc]bool),
	}
	w.outs.Store(&map[control.Proc]*outlink{})
	w.ins.Store(&[]*inlink{})
	w.ctx, w.stop = context.WithCancel(context.Background())
	var err error
	w.listen, err = pipe.Listen(cfg.Config, cfg.Listen)
	if err != nil {
		w.stop()
		return nil, err
	}
	w.work.Go(func() { w.listen.Serve(w.accept) })
	return w, nil
}

// addresses are where others reach this process: on its host, and from others
// ("" without Listen).
func (w *wire) addresses() (local, tcp string) { return w.listen.Addresses() }

// accept begins to read what another process sends. A process has one connection.
func (w *wire) accept(r *pipe.Reader) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := newInlink(w, r)
	ins := slices.Clone(*w.ins.Load())
	i := slices.IndexFunc(ins, func(x *inlink) bool { return x.from == l.from })
	switch {
	case i >= 0 && ins[i].begun.Load():
		r.Abort()
		return
	case w.gone[l.from] || w.closed:
		r.Close()
		return
	case i >= 0: // its dialler has given up the handshake, and did not know that it had it
		unused := ins[i]
		ins = slices.Delete(ins, i, i+1)
		w.work.Go(func() { unused.end(false, (*request).failedError) })
	}
	ins = append([]*inlink{l}, ins...)
	w.ins.Store(&ins)
	w.work.Go(l.run)
}

// addPeers makes processes known. A send to one that is not known waits.
func (w *wire) addPeers(peers []control.Peer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range peers {
		if _, known := w.peers[p.Proc]; !known && !w.gone[p.Proc] {
			w.peers[p.Proc] = p
		}
		if l := w.known(p.Proc); l != nil {
			w.connect(l)
		}
	}
}

// nodeOf is the node of a process; -1: it is not known.
func (w *wire) nodeOf(p control.Proc) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if peer, known := w.peers[p]; known {
		return int(peer.Node)
	}
	return -1
}

// known is the link to a process that this one has talked to, or nil.
func (w *wire) known(p control.Proc) *outlink { return (*w.outs.Load())[p] }

// out is the link to a process.
func (w *wire) out(p control.Proc) *outlink {
	if l := w.known(p); l != nil {
		return l
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if l := w.known(p); l != nil {
		return l
	}
	switch {
	case w.closed:
		return newOutlink(w, p, linkClosed)
	case w.gone[p]:
		return newOutlink(w, p, linkGone)
	}
	l := newOutlink(w, p, linkUnknown)
	outs := maps.Clone(*w.outs.Load())
	outs[p] = l
	w.outs.Store(&outs)
	w.connect(l)
	return l
}

// forgetOut: there is nothing to say to l's process any more, or it is tried anew.
func (w *wire) forgetOut(l *outlink) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known(l.to) == l {
		outs := maps.Clone(*w.outs.Load())
		delete(outs, l.to)
		w.outs.Store(&outs)
	}
}

// connect dials a process if it is known where it is and that was not done
// before. w.mu is held.
func (w *wire) connect(l *outlink) {
	peer, known := w.peers[l.to]
	if !known || w.closed {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != linkUnknown {
		return
	}
	l.state = linkDialing
	addresses := []pipe.Address{{Network: "unix", Address: peer.Address}}
	if peer.TCP != "" && peer.Host != w.cfg.Host {
		addresses = pipe.Reachable(peer.Host, peer.TCP)
	}
	ctx, stop := context.WithCancel(w.ctx)
	l.stopRun = stop
	w.work.Go(func() {
		defer stop()
		l.run(ctx, addresses)
	})
}

// run connects to the process and stays until the pipe ends.
func (l *outlink) run(ctx context.Context, addresses []pipe.Address) {
	p, err := l.reach(ctx, addresses)
	l.mu.Lock()
	switch {
	case l.state != linkDialing:
		l.mu.Unlock()
		if err == nil {
			p.Close()
		}
		return
	case errors.Is(err, ErrUnreachable):
		l.mu.Unlock()
		l.wire.forget(l, err)
		return
	case err == nil:
		l.pipe, l.state = p, linkOpen
		l.unlock()
		err = p.Run(l.space)
		l.mu.Lock()
	}
	l.fail(err)
	if l.failed != nil && pipe.IsSilence(err) {
		l.failed = err // the system says that once, and of a broken pipe to who has written meanwhile
	}
	failed := l.failed
	l.unlock()
	if failed != nil {
		l.wire.suspect(l.to, failed)
	}
}

// suspect reports a process, once.
func (w *wire) suspect(p control.Proc, why error) {
	w.mu.Lock()
	quiet := w.suspected[p] || w.gone[p] || w.closed
	if !quiet {
		w.suspected[p] = true
	}
	w.mu.Unlock()
	if quiet {
		return
	}
	w.cfg.Log.Debug("process cannot be reached", "proc", p, "err", why)
	w.cfg.Suspect(p, why)
}

func (w *wire) send(to control.Proc, e envelope, data pieces, r *request) {
	w.out(to).send(e, data, r)
}

func (w *wire) cancel(r *request, err error) {
	if o := r.out; o != nil {
		o.link.cancel(o, err)
	}
}

func (w *wire) drop(p control.Proc) {
	w.mu.Lock()
	w.gone[p] = true // all that is kept of it
	delete(w.peers, p)
	delete(w.suspected, p)
	w.mu.Unlock()
	if l := w.known(p); l != nil { // first: who hears by a receive that it has failed sends nothing more
		l.end(linkGone, (*request).failedError)
		w.forgetOut(l)
	}
	for _, l := range *w.ins.Load() {
		if l.from == p {
			l.end(true, (*request).failedError)
			w.forgetIn(l)
		}
	}
}

func (w *wire) forgetIn(l *inlink) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ins := slices.DeleteFunc(slices.Clone(*w.ins.Load()), func(x *inlink) bool { return x == l })
	w.ins.Store(&ins)
}

func (w *wire) deliver(p control.Proc) {
	for _, l := range *w.ins.Load() {
		if l.from == p {
			l.attend()
		}
	}
}

func (w *wire) takeBack(p control.Proc) {
	if l := w.known(p); l != nil {
		l.takeBack()
	}
}

func (w *wire) revoke(c control.CommID, why error) {
	for _, l := range *w.outs.Load() {
		l.revoke(c, why)
	}
	for _, l := range *w.ins.Load() {
		l.revoke(c, why)
	}
}

// flush waits until all that was sent is where its receiver can read it even if
// this process ends. Messages that were announced are not waited for.
func (w *wire) flush(ctx context.Context) error {
	for _, l := range *w.outs.Load() {
		for pause := 50 * time.Microsecond; !l.flushed(); pause = min(2*pause, time.Millisecond) {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return driver.Withdrawn(ctx)
			}
		}
	}
	return nil
}

// close ends the wire. What has not been flushed is lost, and what is under way
// ends with ErrClosed. No goroutine is left.
func (w *wire) close() {
	w.mu.Lock()
	closed := w.closed
	w.closed = true
	w.mu.Unlock()
	if !closed {
		w.stop()
		w.listen.Close()
		ended := func(*request) error { return driver.ErrClosed }
		for _, l := range *w.outs.Load() {
			l.end(linkClosed, ended)
		}
		for _, l := range *w.ins.Load() {
			l.end(false, ended)
		}
	}
	w.work.Wait()
}
