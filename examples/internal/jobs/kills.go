package jobs

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
)

// Kill is a death that the command line asks for: of a rank or of a node, after an
// iteration.
type Kill struct {
	What   string // "rank" or "node"
	Number int    // original rank, or node
	At     int

	alone bool // by -die-at, which needs no other process
}

// Meant reports whether it is this rank that has to act.
func (k Kill) Meant(z *aft.Zone) bool {
	if k.What == "node" {
		return z.Node() == k.Number // whoever of its ranks is first
	}
	return z.Original() == comm.OriginalRank(k.Number)
}

// Victim is the process to kill: this one, or the daemon that has started it, with
// which all ranks of the node end. parent is the one that this process began with.
func (k Kill) Victim(parent int) (pid int, err error) {
	switch {
	case k.What == "rank":
		return os.Getpid(), nil
	case parent <= 1 || os.Getppid() != parent:
		return 0, errors.New("-kill-node: the node's daemon is gone already")
	}
	return parent, nil
}

// Kills are the values of -kill, -kill-node and -die-at.
type Kills []Kill

// Register adds the flags.
func (k *Kills) Register(f *flag.FlagSet) {
	f.Func("kill", "to try it out: kill the process of a rank with SIGKILL after an iteration (`RANK@ITERATION`, counted from 0;\nseveral with commas), once per job", func(text string) error { return k.set("rank", text) })
	f.Func("kill-node", "the same with a node and all its ranks (`NODE@ITERATION`, counted from 0)", func(text string) error { return k.set("node", text) })
}

// RegisterDieAt adds -die-at: the same with the first rank, also where that is the whole program.
// more is added to its usage.
func (k *Kills) RegisterDieAt(f *flag.FlagSet, more string) {
	f.Func("die-at", "to try it out: kill the process (that of rank 0) with SIGKILL after `iteration` i (counted from 0), once per job"+more, func(text string) error {
		i, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return errors.New("iterations are numbers that count from 0")
		}
		*k = append(*k, Kill{What: "rank", At: int(i), alone: true})
		return nil
	})
}

// set reads N@I, or several of them with commas between.
func (k *Kills) set(what, text string) error {
	for one := range strings.SplitSeq(text, ",") {
		number, at, _ := strings.Cut(one, "@")
		n, errN := strconv.ParseUint(number, 10, 31)
		i, errI := strconv.ParseUint(at, 10, 31)
		if errN != nil || errI != nil {
			return fmt.Errorf("%q: it must be %s@ITERATION, two numbers that count from 0", one, strings.ToUpper(what))
		}
		*k = append(*k, Kill{What: what, Number: int(n), At: int(i)})
	}
	return nil
}

// At reports, on all ranks alike, whether somebody may die after an iteration.
func (k Kills) At(iter int) bool {
	return slices.ContainsFunc(k, func(one Kill) bool { return one.At == iter })
}

// Check looks for what cannot happen to the ranks that the flags ask for.
func (k Kills) Check(c *Flags) error {
	np, nodes := c.Processes, c.Nodes+c.Spare
	for _, one := range k {
		switch {
		case one.alone:
		case !c.AreProcesses():
			return errors.New("-kill, -kill-node: they need ranks that are processes: give -np, or start the program with craft run; to kill the whole program there is -die-at")
		case np > 0 && one.What == "rank" && one.Number >= np:
			return fmt.Errorf("-kill %d@%d: with -np %d the ranks are 0 to %d", one.Number, one.At, np, np-1)
		case np > 0 && one.What == "node" && one.Number >= nodes:
			return fmt.Errorf("-kill-node %d@%d: the nodes are 0 to %d, spare ones included", one.Number, one.At, nodes-1)
		}
	}
	return nil
}
