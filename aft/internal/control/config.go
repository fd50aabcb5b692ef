package control

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/internal/demand"
)

// ErrConfig is returned for a job that cannot be run as it was asked for.
var ErrConfig = errors.New("the job cannot be run")

// NodeConfig is a node that the job may use.
type NodeConfig struct {
	Name string // for reports
	Host string // as other hosts reach it; nodes of one machine have the same
	// Slots is how many ranks it takes; 0: any number.
	Slots int
	// Spare nodes get no rank at the start: they wait for replacements.
	Spare bool
	// Local: the daemon is a child of the root's process. Its processes die with
	// it, and its exit is seen.
	Local bool
}

// RootConfig is a job.
type RootConfig struct {
	Size  int
	Nodes []NodeConfig
	// Timing's Period and Lease are needed.
	Timing Timing
	// Setup is what all daemons get; the root fills in Version, Node, Size, Hosts,
	// Address and Timing.
	Setup Setup
	// Policy is what the root repairs with when all ranks have failed at once
	// before any repair. Zero: NON-SHRINKING, NO-REUSE.
	Policy driver.Policy
	// SpareRanks is how many processes wait to take the place of one that has failed.
	SpareRanks int
	// Repeats: see The ledger in the package's documentation; at most MaxRepeats. 0: 3.
	Repeats int
	// Past is that of a job that is deployed again; nil: this is the first deployment. Nodes that
	// are gone take no part, and others that do not report are left out.
	Past *Past
	// Grace is how long after a signal that asks for the end there is until everything has to be over;
	// 0: nobody knows.
	Grace time.Duration
	// RequeueCode is the exit code of what is to go on later; 0: 75. Ranks may end with 75 in any case.
	RequeueCode int
}

// NoLease is a Timing.Lease of jobs in which nobody can be silent: it never ends, and no
// pulses are sent.
const NoLease time.Duration = math.MaxInt64

// DefaultRepeats is how many equal failures without progress end a job.
const DefaultRepeats = 3

// MaxRepeats is the largest RootConfig.Repeats.
const MaxRepeats = 1_000_000

func (cfg *RootConfig) validate() error {
	switch {
	case cfg.Size < 1:
		return fmt.Errorf("-n %d: at least 1 rank is needed", cfg.Size)
	case cfg.Size > MaxProcs:
		return fmt.Errorf("-n %d: at most %d ranks are possible", cfg.Size, MaxProcs)
	}
	if err := cfg.validateNodes(); err != nil {
		return err
	}
	switch {
	case cfg.SpareRanks < 0 || cfg.SpareRanks > MaxProcs:
		return fmt.Errorf("--spare-ranks %d: it must be 0 to %d", cfg.SpareRanks, MaxProcs)
	case cfg.Repeats < 0:
		return fmt.Errorf("--max-repeats %d: at least 1 is needed, 0 is the default of %d", cfg.Repeats, DefaultRepeats)
	case cfg.Repeats > MaxRepeats:
		return fmt.Errorf("--max-repeats %d: at most %d is possible", cfg.Repeats, MaxRepeats)
	case cfg.RequeueCode != 0 && !demand.MayRequeue(cfg.RequeueCode):
		return fmt.Errorf("the exit code %d for what is to go on later must be 2 to 255, and neither %d nor %d", cfg.RequeueCode, haltedCode, interruptedCode)
	case cfg.Grace < 0:
		return fmt.Errorf("--grace %v must not be negative; 0 means that nobody knows how much time there is", cfg.Grace)
	}
	return cmp.Or(checkPolicy(cfg.Policy), cfg.Timing.validate())
}

func (cfg *RootConfig) validateNodes() error {
	slots, regular, unlimited := 0, 0, false
	for i, n := range cfg.Nodes {
		if n.Slots < 0 {
			return fmt.Errorf("node %d (%s) has %d slots; 0 means no limit", i, n.Name, n.Slots)
		}
		if n.Spare {
			continue
		}
		regular++
		slots += min(n.Slots, cfg.Size) // more than that are of no use, and might be too many for an int
		unlimited = unlimited || n.Slots == 0
	}
	if regular == 0 {
		return errors.New("no node is left for the ranks: --nodes or --hosts must name more than --spare-nodes")
	}
	if !unlimited && slots < cfg.Size {
		return fmt.Errorf("-n %d: the %d nodes of --nodes, --hosts or the batch job have %d slots together; use fewer ranks, more nodes or more slots (host:slots)",
			cfg.Size, regular, slots)
	}
	return nil
}

func (t Timing) validate() error {
	switch {
	case t.Period <= 0:
		return fmt.Errorf("--heartbeat %v must be positive", t.Period)
	case t.Lease < 2*t.Period:
		return fmt.Errorf("--lease %v must be at least twice --heartbeat (%v)", t.Lease, t.Period)
	case t.Margin < 0:
		return fmt.Errorf("the margin %v after the lease must not be negative", t.Margin)
	case t.Start < 0:
		return fmt.Errorf("the time %v for the start must not be negative; 0 means no limit", t.Start)
	case t.Repair < 0:
		return fmt.Errorf("--repair-timeout %v must not be negative; 0 means no limit", t.Repair)
	}
	return nil
}

// atStart is the lease of a node until the first world is made.
func (t Timing) atStart() time.Duration { return max(t.Start, t.Lease) }

func checkPolicy(p driver.Policy) error {
	if p.Recovery != "" && !slices.Contains(driver.RecoveryNames(), p.Recovery) {
		return fmt.Errorf("recovery policy %q is unknown; possible are %v", p.Recovery, driver.RecoveryNames())
	}
	if p.Spawn != "" && !slices.Contains(driver.SpawnPolicies(), p.Spawn) {
		return fmt.Errorf("spawn policy %q is unknown; possible are %v", p.Spawn, driver.SpawnPolicies())
	}
	return nil
}

// complete is the policy with defaults for what is not set.
func complete(p, defaults driver.Policy) driver.Policy {
	return driver.Policy{Recovery: cmp.Or(p.Recovery, defaults.Recovery), Spawn: cmp.Or(p.Spawn, defaults.Spawn), Synchronous: p.Synchronous}
}
