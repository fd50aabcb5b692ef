package control

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// membership is who there is: nodes, processes, and how they have ended. It decides when
// somebody counts as failed.
type membership struct {
	out      *outbox
	stops    *stopRequests
	timing   Timing
	limit    time.Duration // of silence, then a node is declared dead
	began    time.Time
	nodes    []*node
	started  int        // processes
	present  []*process // those that have not ended, by number
	sleeping []*process // spare ranks, and some that are none any more
	census   census
	latest   []*process // by original rank, the last one started; none before the first
	world    []*process // by rank; none before the first one is made

	suspected suspicions
	outlived  []*process // scripts whose program has ended
	presumed  int        // processes
	reviewAt  time.Time  // when review is due; zero: when something happens
	silentAt  time.Time  // no node is due before
	inZone    bool       // somebody may be in a zone
	over      []*process // who takes part no more, since the demands were told of such
}

func newMembership(cfg RootConfig, out *outbox, stops *stopRequests) *membership {
	m := &membership{out: out, stops: stops, timing: cfg.Timing, limit: cfg.Timing.Lease + cfg.Timing.Margin,
		suspected: make(suspicions), inZone: true}
	for i, n := range cfg.Nodes {
		m.nodes = append(m.nodes, &node{NodeConfig: n, id: Node(i), census: &m.census})
	}
	out.nodes = m.nodes
	return m
}

func (m *membership) node(n Node) *node {
	if n < 0 || int(n) >= len(m.nodes) {
		return nil
	}
	return m.nodes[n]
}

// enlist adds a process that stands for an original rank, or none.
func (m *membership) enlist(now time.Time, o Original, n *node) *process {
	p := &process{id: Proc(m.started), original: o, node: n, beginning: beginning{started: now}}
	m.started++
	n.present++
	m.present = append(m.present, p)
	if p.asleep() {
		m.sleeping = append(m.sleeping, p)
	} else {
		m.latest[o] = p
		p.count(+1)
	}
	return p
}

// proc is a process that has not ended: of others nothing is kept here.
func (m *membership) proc(id Proc) *process {
	i, found := slices.BinarySearchFunc(m.present, id, func(p *process, id Proc) int { return cmp.Compare(p.id, id) })
	if !found || !m.present[i].present() {
		return nil
	}
	return m.present[i]
}

// of is the process if it is one of n's that has not ended; a daemon speaks for no other.
func (m *membership) of(n *node, id Proc) *process {
	if p := m.proc(id); p != nil && p.node == n {
		return p
	}
	return nil
}

// anybody: one is there who is not asleep.
func (m *membership) anybody() bool { return m.census.awake > 0 }

// introduce tells newcomers where everybody is, and everybody where they are.
func (m *membership) introduce(newcomers []*process) {
	known := only(m.present, func(p *process) bool { return p.announced && p.state == alive })
	for _, p := range newcomers {
		p.announced = true
	}
	if len(newcomers) == 0 {
		return
	}
	m.out.sendTo(known, Message{Kind: KindPeers, Peers: peers(newcomers)})
	m.out.sendTo(newcomers, Message{Kind: KindPeers, Peers: peers(append(known, newcomers...))})
}

func peers(list []*process) []Peer {
	out := make([]Peer, len(list))
	for i, p := range list {
		out[i] = Peer{Proc: p.id, Original: p.original, Node: p.node.id, Host: p.node.Host, Address: p.address, TCP: p.tcp}
	}
	return out
}

// endNormally ends a job whose processes have all ended.
func (m *membership) endNormally() {
	m.out.defeat = m.out.defeatOf(m.failures())
	if code, lost := (jobCode{m}).of(m.latest); !(jobCode{m}).endFor(code, lost) {
		m.out.stop(End{Code: code, Report: cmp.Or(m.out.purpose(m.latest), strings.Join(m.losses(), "\n"))})
	}
}

// failures are the ranks that have failed and that nothing has dealt with.
func (m *membership) failures() []*process {
	return only(m.latest, func(p *process) bool { return p.state == failed && !p.handled })
}

// losses tells how the ranks have ended that have not ended well.
func (m *membership) losses() []string {
	return some(only(m.latest, func(p *process) bool { return !p.endedWell() }), jobCode{m}.lastWords)
}

// node is what the root knows of a node.
type node struct {
	NodeConfig
	id       Node
	ready    bool
	broken   bool // the connection is, but its processes may still run
	lost     bool // declared dead
	why      string
	heard    time.Time // its last pulse
	due      time.Time // it is declared dead unless there is a pulse before
	fenced   time.Time // of a local one: when it was, because it was silent
	failures int       // of processes that ran there
	load     int       // its processes that are awake
	present  int       // all that run there, or will
	census   *census   // of the processes of all nodes
	program  string
	path     string
}

// reachable: messages can be sent there.
func (n *node) reachable() bool { return !n.broken && !n.lost }

// usable: processes can be started there.
func (n *node) usable() bool { return n.ready && n.reachable() }
