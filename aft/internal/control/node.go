package control

import "time"

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
	program  string
	path     string
}

// reachable: messages can be sent there.
func (n *node) reachable() bool { return !n.broken && !n.lost }

// usable: processes can be started there.
func (n *node) usable() bool { return n.ready && n.reachable() }
