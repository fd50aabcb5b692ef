package scale

import (
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
)

// Model is what things take. A processor and a link do one thing after the other.
type Model struct {
	// Latency is that between two hosts, Local that between a daemon and a rank.
	Latency, Local time.Duration
	// Bandwidth is that of a host's link, in bytes per second, in either direction.
	Bandwidth float64
	// Receive and Send are what a message takes beside its bytes, at root, daemon or rank.
	Receive, Send time.Duration
	// Encode, Decode and Copy are nanoseconds for each byte: bytes are made of values, values of bytes,
	// and bytes that are there already are handed to the system.
	Encode, Decode, Copy float64
	// Spawn is what a daemon needs to start a process, Boot the time from there until the process
	// says Hello, beside the others of its node.
	Spawn, Boot time.Duration
	// CleanUp is what a rank needs from hearing of a failure to the end of its body.
	CleanUp time.Duration
}

// Default is a model of machines like the one that the constants were measured on (BenchmarkCosts),
// with 10 Gbit/s Ethernet between them.
var Default = Model{
	Latency: 30 * time.Microsecond, Local: 10 * time.Microsecond, Bandwidth: 1.25e9,
	Receive: 5 * time.Microsecond, Send: 2 * time.Microsecond,
	Encode: 5, Decode: 5, Copy: 0.2,
	Spawn: time.Millisecond, Boot: 20 * time.Millisecond, CleanUp: time.Millisecond,
}

// Timing is that of a job without flags.
var Timing = control.Timing{
	Period: 500 * time.Millisecond, Lease: 5 * time.Second, Margin: 500 * time.Millisecond,
	Start: 30 * time.Second, Repair: time.Minute,
}

// Failure is what fails.
type Failure string

// The failures.
const (
	Process Failure = "process"
	Node    Failure = "node"
)

// Config is a job, and what becomes of it.
type Config struct {
	Nodes  int // beside one spare node
	Ranks  int // of each node
	FanOut int // of the tree of daemons; 0: all are connected to the root
	Policy driver.Recovery
	Fails  Failure
	Model  Model
	Timing control.Timing
}

func (c Config) size() int { return c.Nodes * c.Ranks }

// root is the job as the root is told of it.
func (c Config) root() control.RootConfig {
	cfg := control.RootConfig{Size: c.size(), Timing: c.Timing, Policy: c.policy()}
	for i := range c.Nodes + 1 {
		name := nodeName(i)
		cfg.Nodes = append(cfg.Nodes, control.NodeConfig{Name: name, Host: name, Slots: c.Ranks, Spare: i == c.Nodes})
	}
	return cfg
}

// policy: a process is replaced on its node, as in Reinit++, those of a lost node on the spare one.
func (c Config) policy() driver.Policy {
	return driver.Policy{Recovery: c.Policy, Spawn: driver.Reuse}
}
