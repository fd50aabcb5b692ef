package jobs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/craft-go/craft/internal/timeline"
)

// death is one that a rank has to see to.
type death struct {
	Kill
	*Death
}

// marker is the file that keeps that a death has happened.
func (l *Loop) marker(k Kill) string {
	return filepath.Join(l.CPPath, fmt.Sprintf("%s-killed-%s-%d-at-%d", l.program, k.What, k.Number, k.At))
}

// newDeaths looks which of them have happened: not those of a fresh job.
func (r *Rank) newDeaths() (mine []death, err error) {
	for _, k := range r.Kills {
		if !k.Meant(r.zone) {
			continue
		}
		once, err := NewDeath(r.marker(k), r.Fresh && r.zone.Epoch() == 0)
		if err != nil {
			return nil, err
		}
		mine = append(mine, death{k, once})
	}
	return mine, nil
}

// die is called by all ranks. It lets a version under way become complete, so
// that what the flags show does not depend on the speed of the disk.
func (r *Rank) die(ctx context.Context, iter int) error {
	if err := r.Tolerate(ctx, iter, r.cp.Wait(ctx)); err != nil {
		return err
	}
	for _, d := range r.deaths {
		if d.At != iter {
			continue
		}
		pid, err := d.Victim(r.parent)
		if err != nil {
			return err
		}
		kill := func(pid int) error {
			r.note(timeline.Event{What: timeline.Killed, Iteration: iter})
			return r.Die(pid)
		}
		if err := d.DieWith(pid, kill); err != nil {
			return err
		}
	}
	return nil
}

// forget is called when the job has ended: the next one may die again.
func (l *Loop) forget() error {
	var errs []error
	for _, k := range l.Kills {
		errs = append(errs, ForgetDeath(l.marker(k)))
	}
	return errors.Join(errs...)
}
