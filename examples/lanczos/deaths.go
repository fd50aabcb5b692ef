package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/examples/internal/jobs"
)

// kill is a death that the command line asks for: of a rank or of a node, after
// an iteration.
type kill struct {
	what   string // "rank" or "node"
	number int    // original rank, or node
	at     int
}

// marker is the file that keeps that it has happened.
func (k kill) marker(dir string) string {
	return filepath.Join(dir, fmt.Sprintf("lanczos-killed-%s-%d-at-%d", k.what, k.number, k.at))
}

// meant reports whether it is this rank that has to act.
func (k kill) meant(z *aft.Zone) bool {
	if k.what == "node" {
		return z.Node() == k.number // whoever of its ranks is first
	}
	return z.Original() == comm.OriginalRank(k.number)
}

// kills are the values of -kill and -kill-node.
type kills []kill

// set reads N@I, or several of them with commas between.
func (k *kills) set(what, text string) error {
	for one := range strings.SplitSeq(text, ",") {
		number, at, _ := strings.Cut(one, "@")
		n, errN := strconv.ParseUint(number, 10, 31)
		i, errI := strconv.ParseUint(at, 10, 31)
		if errN != nil || errI != nil {
			return fmt.Errorf("%q: it must be %s@ITERATION, two numbers that count from 0", one, strings.ToUpper(what))
		}
		*k = append(*k, kill{what, int(n), int(i)})
	}
	return nil
}

// check looks for what cannot happen.
func (k kills) check(processes bool, np, nodes int) error {
	for _, one := range k {
		switch {
		case !processes:
			return errors.New("-kill, -kill-node: they need ranks that are processes: give -np, or start the program with craft run; to kill the whole program there is -die-at")
		case np > 0 && one.what == "rank" && one.number >= np:
			return fmt.Errorf("-kill %d@%d: with -np %d the ranks are 0 to %d", one.number, one.at, np, np-1)
		case np > 0 && one.what == "node" && one.number >= nodes:
			return fmt.Errorf("-kill-node %d@%d: the nodes are 0 to %d, spare ones included", one.number, one.at, nodes-1)
		}
	}
	return nil
}

// death is one that this rank has to see to.
type death struct {
	kill
	*jobs.Death
}

// newDeaths looks which of them have happened: not those of a fresh job.
func (c config) newDeaths(z *aft.Zone) (mine []death, err error) {
	for _, k := range c.kills {
		if !k.meant(z) {
			continue
		}
		once, err := jobs.NewDeath(k.marker(c.CPPath), c.Fresh && z.Epoch() == 0)
		if err != nil {
			return nil, err
		}
		mine = append(mine, death{k, once})
	}
	return mine, nil
}

// deadly reports, on all ranks alike, whether somebody may die after an iteration.
func (c config) deadly(iter int) bool {
	return slices.ContainsFunc(c.kills, func(k kill) bool { return k.at == iter })
}

// die is called by all ranks. It lets a version under way become complete, so
// that what the flags show does not depend on the speed of the disk.
func (w *worker) die(ctx context.Context, cp *checkpoint.Checkpoint, iter int, mine []death) error {
	if err := w.tolerate(ctx, iter, cp.Wait(ctx)); err != nil {
		return err
	}
	for _, d := range mine {
		var err error
		switch {
		case d.at != iter:
		case d.what == "node":
			err = w.dieWithNode(d)
		default:
			err = d.Die()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dieWithNode kills the daemon that has started this process, and with it all
// ranks of the node.
func (j *job) dieWithNode(d death) error {
	if j.parent <= 1 || os.Getppid() != j.parent {
		return errors.New("-kill-node: the node's daemon is gone already")
	}
	return d.DieWith(j.parent)
}

// forget is called when the job has ended: the next one may die again.
func (c config) forget() error {
	var errs []error
	for _, k := range c.kills {
		errs = append(errs, jobs.ForgetDeath(k.marker(c.CPPath)))
	}
	return errors.Join(errs...)
}
