package commtest

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
)

// model is an engine that is simple rather than fast: everything is under one
// lock. The suite is tried on it, as it is and with faults built in. Processes
// get to know of failures and revocations late, each at a moment of its own.
type model struct {
	fault   string // built in: what is done wrong
	mu      sync.Mutex
	procs   []*proc
	groups  []*group
	bodies  sync.WaitGroup
	news    sync.WaitGroup // news that are on their way
	ctx     context.Context
	cancel  context.CancelFunc
	body    FaultyBody
	n       int
	present map[int]*proc // by original rank
	first   error
}

type proc struct {
	m           *model
	original    int
	dead, left  bool
	killed      chan struct{}
	known       map[*proc]bool // to have failed
	replacement bool
	views       []*view
}

type group struct {
	m       *model
	members []*proc
	ops     map[opKey]*op
}

// view is a process's part of a group: its communicator.
type view struct {
	g           *group
	me          *proc
	rank        int
	acked       map[int]bool
	end         chan struct{} // closed when revoked
	failure     chan struct{} // closed when a failure is known
	isRevoked   bool
	seq         [2]int
	messages    []*letterOut
	receives    []*modelRequest
	rendezvouss []*modelRequest // own sends that are not complete
}

type letterOut struct {
	source int
	tag    int
	data   []byte
	send   *modelRequest // nil: complete
}

type modelRequest struct {
	v      *view
	peer   int
	tag    int
	buf    []byte
	send   bool
	over   bool
	done   chan struct{}
	status driver.Status
	err    error
}

const modelEager = 64 << 10

var errKilled = errors.New("this process was killed")

// runModel runs body on n ranks and returns the first error of a living one.
func runModel(ctx context.Context, fault string, n int, body FaultyBody) error {
	m := &model{fault: fault, body: body, n: n, present: make(map[int]*proc)}
	m.ctx, m.cancel = context.WithCancel(ctx)
	defer m.cancel()
	m.mu.Lock()
	for r := range n {
		m.addProc(r, false)
	}
	g := m.addGroup(m.procs)
	for _, p := range m.procs {
		m.start(p, g)
	}
	m.mu.Unlock()
	m.bodies.Wait()
	m.news.Wait()
	return m.first
}

func (m *model) addProc(original int, replacement bool) *proc {
	p := &proc{
		m: m, original: original, replacement: replacement,
		known: make(map[*proc]bool), killed: make(chan struct{}),
	}
	m.procs = append(m.procs, p)
	m.present[original] = p
	return p
}

func (m *model) addGroup(members []*proc) *group {
	g := &group{m: m, members: slices.Clone(members), ops: make(map[opKey]*op)}
	m.groups = append(m.groups, g)
	for r, p := range g.members {
		p.views = append(p.views, &view{
			g: g, me: p, rank: r, acked: make(map[int]bool), end: make(chan struct{}), failure: make(chan struct{}),
		})
		p.views[len(p.views)-1].tell()
	}
	return g
}

func (g *group) view(p *proc) *view {
	for _, v := range p.views {
		if v.g == g {
			return v
		}
	}
	return nil
}

// start runs the body of p; a process that dies unwinds by a panic.
func (m *model) start(p *proc, g *group) {
	v := g.view(p)
	m.bodies.Go(func() {
		defer func() {
			if r := recover(); r != nil && r != any(errKilled) {
				panic(r)
			}
		}()
		err := m.body(m.ctx, v, p)
		m.mu.Lock()
		defer m.mu.Unlock()
		if p.dead {
			return
		}
		p.left = true
		if err != nil && m.first == nil {
			m.first = err
			m.cancel()
		}
		m.departed(p)
	})
}

func (p *proc) Die() {
	p.m.mu.Lock()
	p.m.kill(p)
	p.m.mu.Unlock()
	panic(errKilled)
}

func (p *proc) Replacement() bool { return p.replacement }

func (p *proc) Kill(r int) {
	m := p.m
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kill(m.present[r])
}

func (m *model) kill(victim *proc) {
	if victim.dead || victim.left {
		return
	}
	victim.dead = true
	close(victim.killed)
	for _, v := range victim.views {
		v.failAll(errKilled)
	}
	m.departed(victim)
}

// departed spreads the news, and looks whether operations can end now.
func (m *model) departed(gone *proc) {
	for _, p := range m.procs {
		if p != gone && !p.dead {
			m.later(func() { p.learn(gone) })
		}
	}
	for _, g := range m.groups {
		for _, o := range g.ops {
			o.decide()
		}
	}
}

// later calls f with the lock held, soon.
func (m *model) later(f func()) {
	delay := time.Duration(rand.IntN(1+rand.IntN(400))) * time.Microsecond
	m.news.Go(func() {
		time.Sleep(delay)
		m.mu.Lock()
		defer m.mu.Unlock()
		f()
	})
}

// learn has p know that another one has failed.
func (p *proc) learn(dead *proc) {
	if p.known[dead] {
		return
	}
	p.known[dead] = true
	for _, v := range p.views {
		v.tell()
	}
	for _, v := range p.views {
		v.checkPending()
	}
}

// tell closes failure when it is time.
func (v *view) tell() {
	select {
	case <-v.failure:
	default:
		if len(v.failed()) > 0 && v.g.m.fault != "failures are not told" {
			close(v.failure)
		}
	}
}

// failed are the known failed ones of a group.
func (v *view) failed() []int {
	var ranks []int
	for r, p := range v.g.members {
		if v.me.known[p] {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// problem is why an operation with peer cannot go on, or nil.
func (v *view) problem(peer int) error {
	switch {
	case v.me.dead:
		return errKilled
	case v.isRevoked && v.g.m.fault != "a revoked one can be used":
		return driver.ErrRevoked
	case peer != driver.AnySource:
		if v.me.known[v.g.members[peer]] && v.g.m.fault != "send or receive waits for the dead" {
			return &driver.FailedError{Ranks: []int{peer}}
		}
		if failed := v.failed(); v.g.m.fault == "scope is not local" && len(failed) > 0 {
			return &driver.FailedError{Ranks: failed}
		}
		return nil
	}
	failed, news := v.failed(), false
	for _, r := range failed {
		news = news || !v.acked[r]
	}
	if v.g.m.fault == "wildcard ignores failures" {
		return nil
	}
	if v.g.m.fault == "wildcard knows no acknowledgement" {
		news = len(failed) > 0
	}
	if news || len(failed) > 0 && len(failed) == len(v.g.members)-1 {
		return &driver.FailedError{Ranks: failed}
	}
	return nil
}

// checkPending ends the requests of v that have a problem.
func (v *view) checkPending() {
	for _, r := range slices.Concat(v.receives, v.rendezvouss) {
		if err := v.problem(r.peer); err != nil {
			r.finish(driver.Status{}, err)
		}
	}
	v.messages = slices.DeleteFunc(v.messages, func(l *letterOut) bool {
		return l.send != nil && v.me.known[v.g.members[l.source]]
	})
}

func (v *view) failAll(err error) {
	for _, r := range slices.Concat(v.receives, v.rendezvouss) {
		r.finish(driver.Status{}, err)
	}
}

// finish completes r and takes it out of all lists.
func (r *modelRequest) finish(st driver.Status, err error) {
	if r.over {
		return
	}
	r.over, r.status, r.err = true, st, err
	close(r.done)
	same := func(o *modelRequest) bool { return o == r }
	r.v.receives = slices.DeleteFunc(r.v.receives, same)
	r.v.rendezvouss = slices.DeleteFunc(r.v.rendezvouss, same)
	if r.send && err != nil {
		to := r.v.g.view(r.v.g.members[r.peer])
		to.messages = slices.DeleteFunc(to.messages, func(l *letterOut) bool { return l.send == r })
	}
}

func (r *modelRequest) Wait(ctx context.Context) (driver.Status, error) {
	select {
	case <-r.done:
		return r.status, r.err
	default:
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		r.v.g.m.mu.Lock()
		r.finish(driver.Status{}, driver.Withdrawn(ctx))
		r.v.g.m.mu.Unlock()
	}
	return r.status, r.err
}

func (v *view) Rank() int { return v.rank }
func (v *view) Size() int { return len(v.g.members) }

// Nodes: two ranks share one.
func (v *view) Nodes() (nodes []int) {
	for r, p := range v.g.members {
		if v.g.m.fault == "nodes are those of the first communicator" {
			nodes = append(nodes, r/2)
		} else {
			nodes = append(nodes, p.original/2)
		}
	}
	return nodes
}

func (v *view) Isend(dst int, tag int, data []byte) driver.Request {
	m := v.g.m
	m.mu.Lock()
	defer m.mu.Unlock()
	r := &modelRequest{v: v, peer: dst, tag: tag, send: true, done: make(chan struct{})}
	if err := v.problem(dst); err != nil {
		r.finish(driver.Status{}, err)
		return r
	}
	to := v.g.view(v.g.members[dst])
	l := &letterOut{source: v.rank, tag: tag, data: data, send: r}
	for _, recv := range to.receives {
		if l.fits(recv) && !to.me.dead {
			l.deliver(recv)
			return r
		}
	}
	to.messages = append(to.messages, l)
	if len(data) <= modelEager && len(to.messages) < 1000 {
		l.data, l.send = slices.Clone(data), nil
		r.finish(driver.Status{}, nil)
	} else {
		v.rendezvouss = append(v.rendezvouss, r)
	}
	return r
}

func (l *letterOut) fits(r *modelRequest) bool {
	return (r.peer == driver.AnySource || r.peer == l.source) && driver.Matches(l.tag, r.tag)
}

func (l *letterOut) deliver(recv *modelRequest) {
	st := driver.Status{Source: l.source, Tag: l.tag, Bytes: len(l.data)}
	var err error
	if len(l.data) > len(recv.buf) {
		err = &driver.TruncatedError{Status: st, Buffer: len(recv.buf)}
	} else {
		copy(recv.buf, l.data)
	}
	if l.send != nil {
		l.send.finish(driver.Status{}, nil)
	}
	recv.finish(st, err)
}

func (v *view) Irecv(src int, tag int, buf []byte) driver.Request {
	m := v.g.m
	m.mu.Lock()
	defer m.mu.Unlock()
	r := &modelRequest{v: v, peer: src, tag: tag, buf: buf, done: make(chan struct{})}
	err := v.problem(src)
	lost := m.fault == "what has arrived is lost" && err != nil
	if errors.Is(err, driver.ErrRevoked) || err == errKilled || lost {
		r.finish(driver.Status{}, err)
		return r
	}
	for i, l := range v.messages {
		if l.fits(r) {
			v.messages = slices.Delete(v.messages, i, i+1)
			l.deliver(r)
			return r
		}
	}
	if err != nil {
		r.finish(driver.Status{}, err)
		return r
	}
	v.receives = append(v.receives, r)
	return r
}
