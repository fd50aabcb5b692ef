package levels

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
)

// restarts measures what follows from the loss of nodes.
func (j *job) restarts(ctx context.Context) error {
	own := j.data.bytes(8 * int64(len(j.data.words)))
	for round := range j.rounds {
		for _, level := range j.levels {
			if j.loses(level) == 0 {
				continue
			}
			if err := j.restartOne(ctx, level, round); err != nil {
				return fmt.Errorf("restart with %s: %w", level, err)
			}
		}
		took, err := j.copied(ctx, j.isLost(1, round), own)
		if err != nil {
			return err
		}
		j.result.add("copy of a node's files", took)
	}
	return nil
}

// enoughNodes: what is lost must leave something.
func (j *job) enoughNodes() error {
	for _, level := range j.levels {
		if lost := j.loses(level); j.what != "writes" && lost >= j.nodes.count {
			return fmt.Errorf("the restart at level %s is measured after the loss of %d nodes, and there are %d: more -nodes, -levels without it, or -what writes",
				level, lost, j.nodes.count)
		}
	}
	return nil
}

// isLost reports whether this rank's node is one of those that a round loses.
func (j *job) isLost(count, round int) bool {
	var lost []int
	for i := range count {
		lost = append(lost, (round+i)%j.nodes.count)
	}
	return slices.Contains(lost, j.nodes.mine)
}

func (j *job) restartOne(ctx context.Context, level string, round int) error {
	what := "restart-" + level
	if err := j.writeVersion(ctx, what, level, round); err != nil {
		return err
	}
	if j.isLost(j.loses(level), round) {
		if err := os.RemoveAll(j.nodes.of(what)); err != nil {
			return err
		}
	}
	restored := j.data.scramble()
	j.watch.begin()
	var cp *checkpoint.Checkpoint
	iter := -1
	took, err := j.timed(ctx, func() (err error) {
		if cp, err = j.open(what, level, j.data); err == nil {
			err = cp.RestartIfNeeded(ctx, &iter)
		}
		return err
	})
	if err != nil {
		return err
	}
	wrong := errors.New("what was restored is not what was written")
	if iter != round+1 {
		return wrong
	}
	began := time.Now()
	if err := j.watch.waitHealed(ctx); err != nil {
		return err
	}
	healed, err := j.slowest(ctx, time.Since(began))
	if err != nil {
		return err
	}
	if !restored() {
		return wrong
	}
	rebuilt, err := j.slowest(ctx, j.watch.takeRebuilt())
	if err != nil {
		return err
	}
	j.result.add("restart after loss, "+level, took)
	if rebuilt > 0 {
		j.result.add("rebuild of files, "+level, rebuilt)
	}
	j.result.add("healed, "+level, healed)
	j.result.add("restarted and healed, "+level, took+healed)
	return cp.Close()
}

// writeVersion is the job before: it ends when all have their version.
func (j *job) writeVersion(ctx context.Context, what, level string, round int) error {
	cp, err := j.open(what, level, j.data)
	if err != nil {
		return err
	}
	if err := cp.RestartIfNeeded(ctx, nil); err != nil {
		return err
	}
	j.data.touch(100)
	if err := cp.UpdateAndWrite(ctx, round, 1); err != nil {
		return err
	}
	if err := cp.Wait(ctx); err != nil {
		return err
	}
	if err := cp.Close(); err != nil {
		return err
	}
	return comm.Barrier(ctx, j.c)
}
