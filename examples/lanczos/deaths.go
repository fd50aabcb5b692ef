package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/examples/internal/jobs"
)

// marker is the file that keeps that a death has happened.
func (c config) marker(k jobs.Kill) string {
	return filepath.Join(c.CPPath, fmt.Sprintf("lanczos-killed-%s-%d-at-%d", k.What, k.Number, k.At))
}

// death is one that this rank has to see to.
type death struct {
	jobs.Kill
	*jobs.Death
}

// newDeaths looks which of them have happened: not those of a fresh job.
func (c config) newDeaths(z *aft.Zone) (mine []death, err error) {
	for _, k := range c.kills {
		if !k.Meant(z) {
			continue
		}
		once, err := jobs.NewDeath(c.marker(k), c.Fresh && z.Epoch() == 0)
		if err != nil {
			return nil, err
		}
		mine = append(mine, death{k, once})
	}
	return mine, nil
}

// die is called by all ranks. It lets a version under way become complete, so
// that what the flags show does not depend on the speed of the disk.
func (w *worker) die(ctx context.Context, cp *checkpoint.Checkpoint, iter int, mine []death) error {
	if err := w.tolerate(ctx, iter, cp.Wait(ctx)); err != nil {
		return err
	}
	for _, d := range mine {
		if d.At != iter {
			continue
		}
		pid, err := d.Victim(w.parent)
		if err != nil {
			return err
		}
		if err := d.DieWith(pid); err != nil {
			return err
		}
	}
	return nil
}

// forget is called when the job has ended: the next one may die again.
func (c config) forget() error {
	var errs []error
	for _, k := range c.kills {
		errs = append(errs, jobs.ForgetDeath(c.marker(k)))
	}
	return errors.Join(errs...)
}
