package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/examples/internal/dieonce"
)

// newDeath is what -die-at asks for. Only rank 0 dies, and the process with it.
func (c config) newDeath(rank comm.Rank) *dieonce.Death {
	if c.dieAt < 0 || rank != 0 {
		return &dieonce.Death{}
	}
	return dieonce.New(filepath.Join(c.cpPath, fmt.Sprintf("lanczos-died-at-%d", c.dieAt)), c.fresh)
}

// lost is the last iteration that an earlier run is known to have done, or -1.
func (c config) lost(d *dieonce.Death) int {
	if d.Happened() {
		return c.dieAt
	}
	return -1
}

// die is called by all ranks. It lets a version under way become complete, so
// that what -die-at shows does not depend on the speed of the disk.
func (j *job) die(ctx context.Context, rank comm.Rank, cp *checkpoint.Checkpoint, death *dieonce.Death) error {
	if err := j.tolerate(ctx, rank, j.dieAt, cp.Wait(ctx)); err != nil {
		return err
	}
	return death.Die()
}
