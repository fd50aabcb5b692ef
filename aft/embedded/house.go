package embedded

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/control"
)

// house is a job whose processes are goroutines of this one: the same root and
// daemon as of a real job, called directly. Events are handled one at a time, by
// whoever finds nobody at it.
type house struct {
	start func(s control.Start, e *endpoint) // starts a body

	events  inbox[func(now time.Time)]
	root    *control.Root
	daemon  *control.Daemon
	away    map[control.Proc]bool // whose bodies have returned; only in events, as telling is
	telling bool                  // the others will be told
	ended   *control.End
	over    chan struct{} // closed with ended

	places sync.RWMutex
	procs  map[control.Proc]*endpoint
}

// quiet is the timing of a job in one process: nobody can be silent.
var quiet = control.Timing{Period: time.Hour, Lease: 24 * time.Hour, Margin: time.Hour}

// newHouse is a job of n processes, all on one node.
func newHouse(n int) (*house, error) {
	if n < 1 {
		return nil, fmt.Errorf("%w, not %d", ErrSize, n)
	}
	root, err := control.NewRoot(control.RootConfig{
		Size: n, Timing: quiet,
		Nodes: []control.NodeConfig{{Name: "node0", Host: "localhost", Local: true}},
		Setup: control.Setup{Version: control.Version, Size: n, Hosts: 1, Timing: quiet},
	})
	if err != nil {
		return nil, err
	}
	return &house{root: root, procs: make(map[control.Proc]*endpoint), away: make(map[control.Proc]bool), over: make(chan struct{})}, nil
}

// post has an event handled, and returns when nobody is at it any more or
// somebody else is.
func (h *house) post(event func(now time.Time)) {
	if h.events.put(event) {
		h.events.run(func(next func(time.Time)) { next(time.Now()) })
	}
}

// begin starts the processes.
func (h *house) begin() {
	h.post(func(now time.Time) { h.rootActions(h.root.Begin(now)) })
}

func (h *house) rootActions(actions []control.Action) {
	for _, a := range actions {
		switch {
		case a.Send != nil:
			h.send(a.Send.Message)
		case a.End != nil && h.ended == nil:
			h.ended = a.End
			close(h.over)
		}
	}
}

// send brings a message of the root to the daemon.
func (h *house) send(m control.Message) {
	if m.Kind == control.KindSetup {
		h.daemon = control.NewDaemon(*m.Setup)
		ready := control.Message{Kind: control.KindReady, Ready: &control.Ready{Version: control.Version}}
		h.post(func(now time.Time) { h.rootActions(h.root.Handle(now, 0, ready)) })
	}
	if m.Made != nil && m.Made.Op.Class() == 2 {
		h.post(func(time.Time) { clear(h.away) })
	}
	if m.Made != nil && m.Made.New != nil {
		for _, p := range m.Made.New.Procs { // before the first of them can send to another
			if e := h.endpoint(p); e != nil {
				e.enter(*m.Made)
			}
		}
	}
	h.post(func(now time.Time) { h.daemonActions(h.daemon.FromRoot(now, m)) })
}

func (h *house) daemonActions(actions []control.DaemonAction) {
	for _, a := range actions {
		switch {
		case a.ToRoot != nil:
			m := *a.ToRoot
			h.post(func(now time.Time) { h.rootActions(h.root.Handle(now, 0, m)) })
		case a.ToRank != nil:
			if e := h.endpoint(a.ToRank.Proc); e != nil {
				e.handle(a.ToRank.Message)
			}
		case a.Start != nil:
			h.open(*a.Start)
		case a.Kill != nil && a.Kill.Signal == 9:
			h.exit(a.Kill.Proc, control.Exit{Code: -1, Signal: 9, Why: a.Kill.Why})
		}
	}
}

// open starts a process.
func (h *house) open(s control.Start) {
	e := newEndpoint(s.Proc, s.Original)
	e.peer = h.endpoint
	e.up = func(m control.Message) { h.fromRank(e, m) }
	e.lease = func() error {
		select {
		case <-e.over:
			return comm.ErrFenced
		default:
			return nil
		}
	}
	h.places.Lock()
	h.procs[s.Proc] = e
	h.places.Unlock()
	h.start(s, e)
	h.fromRank(e, control.Message{Kind: control.KindHello, Hello: &control.Hello{Proc: s.Proc, Version: control.Version}})
}

func (h *house) fromRank(e *endpoint, m control.Message) {
	h.post(func(now time.Time) {
		if m.Kind == control.KindJoin && m.Joins[0].Op == control.OpEnd {
			h.returned(e.self)
		}
		h.daemonActions(h.daemon.FromRank(now, e.self, m))
	})
}

// patienceWithEnds is how long ranks may take to come to the end of their bodies before
// they are told who has.
const patienceWithEnds = 500 * time.Millisecond

// returned notes that a body has returned. Nobody ticks the root of a job in one
// process, and its daemon holds the first ones back.
func (h *house) returned(p control.Proc) {
	h.away[p] = true
	if h.telling {
		return
	}
	h.telling = true
	time.AfterFunc(patienceWithEnds, func() { h.post(func(time.Time) { h.tellAway() }) })
}

// tellAway tells those whose bodies still run.
func (h *house) tellAway() {
	h.telling = false
	list := slices.Collect(maps.Keys(h.away))
	if len(list) == 0 {
		return
	}
	h.places.RLock()
	running := maps.Clone(h.procs)
	h.places.RUnlock()
	for p, e := range running {
		if !h.away[p] {
			e.returned(list)
		}
	}
}

// exit ends a process, once.
func (h *house) exit(p control.Proc, x control.Exit) {
	e := h.endpoint(p)
	if e == nil || !e.close(ErrKilled) {
		return
	}
	e.stop(ErrKilled)
	h.exited(e, x)
}

func (h *house) exited(e *endpoint, x control.Exit) {
	x.Proc, x.Zone, x.Step = e.self, int(e.zone.Load()), e.step.Load()
	h.post(func(now time.Time) {
		h.daemonActions(h.daemon.Exited(now, x))
	})
}

// leave ends a process normally.
func (h *house) leave(e *endpoint, rank comm.Rank) {
	if !e.close(errLeft(rank)) {
		return
	}
	h.fromRank(e, control.Message{Kind: control.KindBye, Bye: &control.Bye{Proc: e.self}})
	h.exited(e, control.Exit{Code: 0})
}

// present is the newest process of an original rank.
func (h *house) present(original comm.OriginalRank) (p control.Proc, ok bool) {
	h.places.RLock()
	defer h.places.RUnlock()
	for q, e := range h.procs {
		if e.original == original && (!ok || q > p) {
			p, ok = q, true
		}
	}
	return p, ok
}

func (h *house) endpoint(p control.Proc) *endpoint {
	h.places.RLock()
	defer h.places.RUnlock()
	return h.procs[p]
}
