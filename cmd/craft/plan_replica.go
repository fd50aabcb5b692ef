package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/craft-go/craft/internal/chart"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/replica"
)

// replicaChoice is what the command line says of data in the memory of ranks.
type replicaChoice struct {
	ranks, copies, nodes   int
	size, rangeSize        string
	bytes, rangeBytes      int64 // the same as numbers
	consecutive            bool
	trials                 int
	seed                   uint64
	latency                time.Duration
	rankBandwidth, perNode string
	network                replica.Network
	svg, png               string
}

func planReplicaCommand(p *program) *cobra.Command {
	c := replicaChoice{}
	paper := replica.PaperNetwork()
	cmd := &cobra.Command{
		Use:   "replica -p RANKS -r COPIES",
		Short: "Tell how many failures data in the memory of ranks survives, and what it costs",
		Long: `Tell how many failures data survives that is kept in the memory of ranks (package
storage/replica), and what that costs in memory and time.

A table says with which probability data is lost when so many ranks have failed, at
random and without a repair in between: by a formula where the copies divide the ranks,
else by simulation of the placement. With --nodes another one says it of whole nodes that
fail, with ranks in blocks on nodes of equal sizes; INTERVAL holds the probability with 95 %,
and AT MOST is a bound, close to it where it is too small to be simulated.

Times are those of a model: --latency for each message at either end, --rank-bandwidth
for what a rank sends and receives, --node-bandwidth for what comes into a node or leaves it, and
half a microsecond for each range or part of one. The defaults are a machine with nodes of 48 ranks and 100 Gbit/s.`,
		Example: `  craft plan replica -p 24576 -r 4
  craft plan replica -p 1536 -r 2 --nodes 32 --bytes 64MiB --png loss.png`,
		Args: noArguments(": it has flags"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.check(cmd.Flags().Changed("nodes")); err != nil {
				return &usageError{err}
			}
			return c.present(cmd.Context(), p)
		},
	}
	f := cmd.Flags()
	f.IntVarP(&c.ranks, "ranks", "p", 0, "number of ranks")
	f.IntVarP(&c.copies, "copies", "r", 2, "copies of each block, the own one included")
	f.IntVar(&c.nodes, "nodes", 0, "nodes that the ranks are on, evenly")
	f.StringVar(&c.size, "bytes", "16MiB", "data of each rank")
	f.StringVar(&c.rangeSize, "range-bytes", "256KiB", "what stays together of it")
	f.BoolVar(&c.consecutive, "consecutive", false, "without a permutation of the ranges")
	f.IntVar(&c.trials, "trials", 0, "of a simulation (default: as many as take some seconds)")
	f.Uint64Var(&c.seed, "seed", 1, "of a simulation and of the permutation")
	f.DurationVar(&c.latency, "latency", paper.Latency, "of a message")
	f.StringVar(&c.rankBandwidth, "rank-bandwidth", rate(paper.RankBandwidth), "bytes per second of a rank")
	f.StringVar(&c.perNode, "node-bandwidth", rate(paper.NodeBandwidth), "bytes per second of a node, in and out")
	f.StringVar(&c.svg, "svg", "", "draw the probability of a loss into this file")
	f.StringVar(&c.png, "png", "", "the same as a PNG")
	p.jsonFlag(cmd, "tables")
	return cmd
}

// check makes numbers of what was written, and says what is wrong with it.
func (c *replicaChoice) check(nodes bool) error {
	switch {
	case c.ranks == 0:
		return errors.New("how many ranks? --ranks (-p) says so")
	case c.ranks < 0 || c.ranks > replicaRanks:
		return fmt.Errorf("--ranks %d: allowed are 1 to %d", c.ranks, replicaRanks)
	case nodes && c.ranks > replicaPlaced:
		return fmt.Errorf("--ranks %d with --nodes: allowed are 1 to %d", c.ranks, replicaPlaced)
	case c.copies < 1 || c.copies > c.ranks:
		return fmt.Errorf("--copies %d on --ranks %d: allowed are 1 copy to %d, each on another rank", c.copies, c.ranks, c.ranks)
	case nodes && (c.nodes < 1 || c.nodes > c.ranks):
		return fmt.Errorf("--nodes %d with --ranks %d: allowed are 1 to %d", c.nodes, c.ranks, c.ranks)
	case nodes && c.copies > c.nodes:
		return fmt.Errorf("--copies %d on --nodes %d: each copy is on another node, so that there are %d at most", c.copies, c.nodes, c.nodes)
	case c.trials < 0 || c.trials > replicaTrials:
		return fmt.Errorf("--trials %d: allowed are 1 to %d", c.trials, replicaTrials)
	case c.latency < 0:
		return fmt.Errorf("--latency %v: it must not be negative", c.latency)
	}
	var rankBandwidth, nodeBandwidth int64
	for _, size := range []struct {
		flag, text, allowed string
		value               *int64
	}{
		{"bytes", c.size, "bytes or more, such as 16MiB", &c.bytes}, {"range-bytes", c.rangeSize, "bytes or more, such as 256KiB", &c.rangeBytes},
		{"rank-bandwidth", c.rankBandwidth, "bytes a second or more, such as 850MB", &rankBandwidth},
		{"node-bandwidth", c.perNode, "bytes a second or more, such as 12.5GB", &nodeBandwidth},
	} {
		n, err := humanize.ParseBytes(size.text)
		if err != nil || n < replicaBlock || n > math.MaxInt64 {
			return fmt.Errorf("--%s %q: allowed are %d %s", size.flag, size.text, replicaBlock, size.allowed)
		}
		*size.value = int64(n)
	}
	if float64(c.bytes)*float64(c.copies)*float64(c.ranks) > math.MaxInt64/2 {
		return fmt.Errorf("--bytes %s with --copies %d on --ranks %d: that is more than can be counted", c.size, c.copies, c.ranks)
	}
	c.network = replica.PaperNetwork()
	c.network.Latency, c.network.RankBandwidth, c.network.NodeBandwidth = c.latency, float64(rankBandwidth), float64(nodeBandwidth)
	if c.nodes > 0 {
		c.network.RanksPerNode = (c.ranks + c.nodes - 1) / c.nodes
	}
	for _, file := range []struct{ format, name string }{{"svg", c.svg}, {"png", c.png}} {
		if file.name == "" {
			continue
		}
		if format, err := chart.Format(file.name); err != nil || format != file.format {
			return fmt.Errorf("--%s %s: the name ends in .%[1]s", file.format, file.name)
		}
	}
	return nil
}

const (
	replicaRanks  = 1 << 25 // as far as the formula was checked
	replicaPlaced = 1 << 22 // on nodes: more take gigabytes
	replicaTrials = 1 << 26 // more take gigabytes
	replicaBlock  = 64      // bytes
	// replicaPieces is how many pieces of data the placement is asked for; more take minutes.
	replicaPieces = 1 << 26
)

// present shows what was chosen, and draws it where that is wanted.
func (c replicaChoice) present(ctx context.Context, p *program) error {
	d, err := c.plan(ctx)
	if err != nil {
		return err
	}
	seen := overview{document: d}
	if d.Costs == nil {
		seen.notes = append(seen.notes, fmt.Sprintf("what it costs is left out: %d ranks with %s each in ranges of %s are more than %d pieces: fewer --ranks or a larger --range-bytes tell it",
			c.ranks, roundedBytes(c.bytes), roundedBytes(c.rangeBytes), replicaPieces))
	}
	for _, file := range []struct{ format, name string }{{"svg", c.svg}, {"png", c.png}} {
		if file.name == "" {
			continue
		}
		var drawn bytes.Buffer
		if err := d.chart().Draw(&drawn, file.format); err != nil {
			return err
		}
		if err := vfs.WriteFile(p.fs, file.name, drawn.Bytes(), 0o644, false); err != nil {
			return fmt.Errorf("--%s %s: %w", file.format, file.name, err)
		}
	}
	return p.present(seen)
}

// plan calculates.
func (c replicaChoice) plan(ctx context.Context) (d replicaPlan, err error) {
	d = replicaPlan{Ranks: c.ranks, Copies: c.copies, Bytes: c.bytes, RangeBytes: c.rangeBytes, Permutation: !c.consecutive}
	if formula, err := replica.NewLoss(c.ranks, c.copies); err == nil {
		d.ByRank = formulaLosses(formula, c.ranks)
	} else if d.ByRank, err = c.simulate(ctx, replica.Simulation{}); err != nil {
		return d, err
	}
	if c.nodes > 0 {
		d.Nodes = &c.nodes
		nodes := make([]int, c.ranks)
		for rank := range nodes {
			nodes[rank] = rank * c.nodes / c.ranks
		}
		if d.ByNode, err = c.simulate(ctx, replica.Simulation{Nodes: nodes, ByNode: true}); err != nil {
			return d, err
		}
	}
	if pieces := float64(c.ranks) * float64(c.copies) * math.Ceil(float64(c.bytes)/float64(c.rangeBytes)); pieces <= replicaPieces {
		d.Costs, err = c.costs()
	}
	return d, err
}

// simulate completes a simulation, with as many trials as take some seconds.
func (c replicaChoice) simulate(ctx context.Context, s replica.Simulation) (*losses, error) {
	s.Ranks, s.Copies, s.Seed = c.ranks, c.copies, c.seed
	s.Trials = c.trials
	if s.Trials == 0 {
		s.Trials = min(max(100_000_000/c.ranks, 20), 10_000)
	}
	l, err := s.Run(ctx)
	if err != nil {
		return nil, err
	}
	units := c.ranks
	if s.ByNode {
		units = c.nodes
	}
	return simulatedLosses(s, l, units)
}

func (c replicaChoice) costs() (*replicaCosts, error) {
	costs, err := replica.NewCosts(replica.Workload{
		Ranks: c.ranks, Copies: c.copies, Bytes: c.bytes, BlockBytes: replicaBlock, RangeBytes: int(min(c.rangeBytes, c.bytes)), Consecutive: c.consecutive, Seed: c.seed,
	}, c.network)
	if err != nil {
		return nil, err
	}
	d := &replicaCosts{Memory: costs.Memory(), Network: network{c.latency.Seconds(), c.network.Piece.Seconds(), c.network.RankBandwidth, c.network.NodeBandwidth, c.network.RanksPerNode}}
	add := func(name string, cost replica.Cost) { d.Operations = append(d.Operations, newOperation(name, cost)) }
	add("submit", costs.Submit())
	add("load all", costs.LoadAll())
	add("load 1 %", costs.LoadShare(0.01))
	if c.ranks > 1 && c.copies > 1 { // something is left of what a rank had that failed
		failed, to := replica.Seat(0), replica.Seat(c.ranks/(2*c.copies))
		add("load a failed rank's, into one", costs.LoadTo(failed, max(to, 1)))
		add("load a failed rank's, scattered", costs.LoadScattered(failed))
		add("repair after it", costs.Repair(failed))
	}
	return d, nil
}
