package embedded

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/internal/demand"
)

// endpoint is one process of a job as its own code sees it: its mailboxes, what
// it knows about the others, and the collective operations it waits for.
type endpoint struct {
	self     control.Proc
	original control.Original

	routes
	lease    func() error // nil: cannot be lost
	progress progress

	mu       sync.Mutex // the innermost lock: see doc.go
	boxes    map[control.CommID]*mailbox
	known    horizon
	early    map[control.CommID][]*message // of communicators not known yet
	waiting  map[announced]*message        // in a matcher
	absent   map[control.Proc]absence
	away     map[control.Proc]bool // their bodies have returned: they send nothing more in this zone
	noticed  notices
	pending  map[operationKey]part
	buffered int // bytes of eager messages
	closed   error
	over     chan struct{} // closed with closed

	wakes sync.Pool         // of channels of capacity 1, empty: for requests
	first chan control.Made // the first communicator
	point *demand.Point     // where calls of this process meet those of others
}

// routes lead to others.
type routes struct {
	up   func(control.Message)        // towards the root; never blocks for long
	wire transport                    // to other processes; nil: all are in this one
	peer func(control.Proc) *endpoint // of those in this one; nil: it has ended
	at   func(control.Proc) int       // the node of a process, -1 if it is forgotten; nil: nobody has named nodes
}

type operationKey struct {
	comm control.CommID
	seq  uint64
}

// part is what this process has in an operation that is not decided yet.
type part struct {
	members []control.Proc    // of the communicator, which may be given back meanwhile: what is made may be told as a difference
	outcome chan control.Made // nil: nobody waits for it any more
}

// progress is how far the program is. Any goroutine may ask.
type progress struct {
	inZone atomic.Bool            // the body of a zone runs
	runs   atomic.Pointer[string] // the goroutine of the last one; nil: there was none
	zone   atomic.Int64           // of step; read before it
	step   atomic.Int64           // control.NoStep: none in this zone
}

// stack is where the program is.
func (p *progress) stack() string {
	if zone := p.runs.Load(); zone != nil {
		return bodyStack(*zone)
	}
	return bodyStack("")
}

// enter begins a zone.
func (p *progress) enter(zone int) {
	p.step.Store(control.NoStep)
	p.zone.Store(int64(zone))
}

func (p *progress) now() (zone int, step int64) {
	zone = int(p.zone.Load())
	return zone, p.step.Load()
}

// horizon is which communicators this process knows of. The root numbers them, and tells a
// process of those that it is one of in their order.
type horizon struct {
	own    control.CommID // the job's, or what this process was spawned for
	oldest control.CommID // those before have been replaced
	newest control.CommID
}

// isAhead: the root has not told of it yet. Another one without a mailbox has been given
// back, by this process or by a repair: nobody waits for its messages any more.
func (h *horizon) isAhead(id control.CommID) bool { return id > h.newest }

func newEndpoint(self control.Proc, original control.Original) *endpoint {
	e := &endpoint{
		self: self, original: original,
		boxes:   make(map[control.CommID]*mailbox),
		early:   make(map[control.CommID][]*message),
		waiting: make(map[announced]*message),
		absent:  make(map[control.Proc]absence),
		away:    make(map[control.Proc]bool),
		pending: make(map[operationKey]part),
		over:    make(chan struct{}),
		first:   make(chan control.Made, 1),
	}
	e.wakes.New = func() any { return make(chan struct{}, 1) }
	e.point = demand.NewPoint(uplink{e})
	e.progress.enter(0)
	return e
}

// handle takes a message from the root. Messages come one at a time, in their
// order. After an error, which is a control.ErrMessage, this process must not go on.
func (e *endpoint) handle(m control.Message) error {
	switch m.Kind {
	case control.KindMade:
		made, err := e.whole(*m.Made)
		if err != nil {
			return err
		}
		e.renew(made)
		e.made(made)
	case control.KindHold, control.KindMeet:
		e.meet(m)
	case control.KindFailed:
		e.lose(m.Failed, failed)
		e.lose(m.Left, left)
		e.returned(m.Away)
	case control.KindRevoke:
		e.revoke(m.Revoke.Comm, m.Revoke.Derived)
	}
	return nil
}

// whole is an outcome with the members of what was made, also if it tells a difference.
func (e *endpoint) whole(m control.Made) (control.Made, error) {
	e.mu.Lock()
	of := e.pending[operationKey{m.Comm, m.Seq}]
	e.mu.Unlock()
	return m.Whole(of.members)
}

// made ends a collective operation, or gives a new process its first
// communicator.
func (e *endpoint) made(m control.Made) {
	if m.New != nil {
		e.enter(m)
	}
	if m.Op == "" {
		select {
		case e.first <- m:
		default: // it has one already
		}
		return
	}
	e.mu.Lock()
	if m.Op.Class() == control.OfZone {
		clear(e.away)
	}
	key := operationKey{m.Comm, m.Seq}
	own, ours := e.pending[key]
	delete(e.pending, key)
	if own.outcome != nil {
		own.outcome <- m // it has room
	}
	e.mu.Unlock()
	if ours && own.outcome == nil && m.New != nil {
		e.free(e.ensure(*m.New, m.Comm)) // nobody here will ever use it
	}
}

// forgo gives up waiting for an operation; false: it has been decided.
func (e *endpoint) forgo(key operationKey) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	own, undecided := e.pending[key]
	if undecided {
		own.outcome = nil
		e.pending[key] = own
	}
	return undecided
}

// enter makes the mailbox of the communicator that an operation has made.
func (e *endpoint) enter(m control.Made) *mailbox {
	if m.Op == control.OpRepair {
		return e.ensure(*m.New, 0) // it takes the place of the old one
	}
	b := e.ensure(*m.New, m.Comm)
	if m.Op == control.OpSpawn {
		e.mu.Lock()
		b.spawned = true
		e.mu.Unlock()
	}
	return b
}

// ensure is the mailbox of a communicator that this process is one of. parent is
// what it was made of, or 0.
func (e *endpoint) ensure(g control.Group, parent control.CommID) *mailbox {
	if b := e.find(g.ID); b != nil {
		return b
	}
	nodes := e.nodes(g.Procs)
	e.mu.Lock()
	b := e.boxes[g.ID]
	if b != nil {
		e.mu.Unlock()
		return b
	}
	b = newMailbox(e, g)
	b.last, b.nodes = g.Lasting, nodes
	switch {
	case parent == 0 || e.known.own == 0:
		e.known.own, b.world = g.ID, true
	case !b.last:
		b.made = e.lineage(parent)
	}
	e.known.newest = max(e.known.newest, g.ID)
	if g.ID < e.known.oldest && !g.Lasting {
		b.markRevoked()
		e.mu.Unlock()
		return b
	}
	for _, p := range g.Procs {
		if how := e.absent[p]; how != 0 {
			b.lose(p, how)
		}
	}
	e.boxes[g.ID] = b
	starts := b.takeEarly(e.early[g.ID])
	delete(e.early, g.ID)
	e.mu.Unlock()
	for _, start := range starts {
		start()
	}
	return b
}

func (e *endpoint) find(id control.CommID) *mailbox {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.boxes[id]
}

// nodes are those of some processes, as long as they are known: of who dies nobody knows it for ever.
func (e *endpoint) nodes(procs []control.Proc) []int {
	if e.at == nil {
		return nil
	}
	out := make([]int, len(procs))
	for r, p := range procs {
		out[r] = e.at(p)
	}
	return out
}

// lineage is what a communicator that is made of parent is revoked with. Only a session
// revokes what others are made of, and has the job's own communicator or one that was
// made by a spawn. The lock is held.
func (e *endpoint) lineage(parent control.CommID) []control.CommID {
	of := e.boxes[parent]
	switch {
	case of == nil: // freed meanwhile
		return []control.CommID{e.known.own, parent}
	case of.made == nil || of.spawned:
		return append(slices.Clone(of.made), parent)
	}
	return of.made
}

// revoke ends everything on a communicator, and on those made of it.
func (e *endpoint) revoke(id control.CommID, derived bool) {
	e.endBoxes(driver.ErrRevoked, (*mailbox).markRevoked, func(b *mailbox) bool {
		return !b.revoked && (b.id == id || derived && slices.Contains(b.made, id))
	})
}

// abandon ends everything on all communicators with an error of this process, which
// messages have been lost by. Collective operations that the root decides go on.
func (e *endpoint) abandon(why error) {
	e.endBoxes(why, func(b *mailbox) { b.closed = why }, func(b *mailbox) bool { return !b.dead() })
}

// endBoxes ends the communicators that are meant, which is marked on all of them first: who learns of it on one finds
// it known on all. mark and meant are called under the lock.
func (e *endpoint) endBoxes(why error, mark func(*mailbox), meant func(*mailbox) bool) {
	var boxes []*mailbox
	var refuse []*message
	e.mu.Lock()
	for _, b := range e.boxes {
		if meant(b) {
			boxes = append(boxes, b)
			mark(b)
		}
	}
	for _, b := range boxes {
		refuse = append(refuse, b.abandon(why, why)...)
	}
	e.mu.Unlock()
	for _, b := range boxes {
		if e.wire != nil {
			e.wire.revoke(b.id, why)
		}
	}
	for _, m := range refuse {
		m.refuse()
	}
}

// near is the endpoint of p if it is in this process and has not ended.
func (e *endpoint) near(p control.Proc) *endpoint {
	if p == e.self {
		return e
	}
	if e.peer == nil {
		return nil
	}
	return e.peer(p)
}

// box is this process's mailbox of the communicator that other is a mailbox of
// in the same process; nil, and whether that was given back.
func (e *endpoint) box(other *mailbox) (b *mailbox, freed bool) {
	if e == other.ep {
		return other, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	b = e.boxes[other.id]
	return b, b == nil && !e.known.isAhead(other.id) && (other.last || other.id >= e.known.oldest)
}

// retire forgets all communicators that were made before the one that takes their
// place.
func (e *endpoint) retire(by control.CommID) {
	e.mu.Lock()
	e.known.oldest, e.known.newest = by, max(e.known.newest, by)
	e.mu.Unlock()
	e.endBoxes(driver.ErrRevoked, (*mailbox).markRevoked, func(b *mailbox) bool { return !b.revoked && b.id < by && !b.last })
	e.mu.Lock()
	maps.DeleteFunc(e.boxes, func(id control.CommID, b *mailbox) bool { return id < by && !b.last })
	e.mu.Unlock()
}

// close ends the endpoint: every operation ends with err. It reports whether the
// endpoint was open.
func (e *endpoint) close(err error) bool {
	e.mu.Lock()
	if e.closed != nil {
		e.mu.Unlock()
		return false
	}
	e.closed = err
	close(e.over)
	var refuse []*message
	for _, b := range e.boxes {
		refuse = append(refuse, b.close(err)...)
	}
	e.mu.Unlock()
	e.point.Close()
	for _, m := range refuse {
		m.refuse()
	}
	return true
}

// joined is a process's part in a collective operation that the root decides.
type joined struct {
	box     *mailbox
	key     operationKey
	outcome chan control.Made
	err     error // why it could not take part
}

// join takes part in a collective operation.
func (e *endpoint) join(b *mailbox, j control.Join) joined {
	wait := make(chan control.Made, 1)
	e.mu.Lock()
	if e.closed != nil || b.freed {
		defer e.mu.Unlock()
		return joined{err: cmp.Or(e.closed, driver.ErrClosed)}
	}
	class := j.Op.Class()
	j.Proc, j.Comm, j.Seq = e.self, b.id, class.Seq(b.operations[class])
	b.operations[class]++
	key := operationKey{j.Comm, j.Seq}
	e.pending[key] = part{b.procs, wait}
	e.mu.Unlock()
	e.up(control.Message{Kind: control.KindJoin, Joins: []control.Join{j}})
	return joined{box: b, key: key, outcome: wait}
}

// wait returns what the root has decided.
func (j joined) wait(ctx context.Context) (control.Made, error) {
	if j.err != nil {
		return control.Made{}, j.err
	}
	e := j.box.ep
	var m control.Made
	select {
	case m = <-j.outcome:
	case <-ctx.Done():
		if e.forgo(j.key) {
			return m, driver.Withdrawn(ctx)
		}
		m = <-j.outcome
	case <-e.over:
		return m, e.closed
	}
	switch {
	case m.Revoked:
		return m, j.box.revokedError(m.Returned)
	case m.Ends != demand.None:
		return m, &demand.EndError{Cause: m.Ends, Text: fmt.Sprintf("%v: %s", ErrControl, m.Err), Err: ErrControl}
	case m.Err != "":
		return m, fmt.Errorf("%w: %s", ErrControl, m.Err)
	}
	return m, nil
}
