package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// disasterProgram is the program in a world. Its local values differ.
type disasterProgram struct {
	*program
	w *world
	z place
}

type place interface{ Epoch() int }

func disasterValues(c *comm.Comm) *program {
	p := newValues(c, disasterCells)
	p.mine = 100 * int(c.Rank())
	return p
}

// program is what each rank runs. The life is the one that it was started in.
func (w *world) program(ctx context.Context, z place, c *comm.Comm, l *life, job string) error {
	p := &disasterProgram{program: disasterValues(c), w: w, z: z}
	options := append([]Option{
		WithPath("/pfs"), withLevels(w.levels), WithNodePath(nodeRoot(l.node)), WithSync(SyncFull), inMode(w.mode),
		WithLogger(slog.New(slog.NewTextHandler(&w.log, nil))),
		withFS(vfs.WithErrors(w.home, l.atHome)),
		func(o *options) {
			o.nodeFS = vfs.WithErrors(l.mem, l.operation)
			o.beforeMemory = l.inMemory
			o.lock = filestore.LockConfig{Job: job, Epoch: z.Epoch()}
		},
	}, w.options...)
	var err error
	if p.cp, err = New("prog", c, options...); err != nil {
		return err
	}
	defer p.cp.Close()
	if err := errors.Join(p.add(true), p.cp.Commit()); err != nil {
		return err
	}
	if err := p.cp.RestartIfNeeded(ctx, &p.iter); err != nil {
		return err
	}
	if err := w.restored(p); err != nil {
		return err
	}
	if err := p.loop(ctx); err != nil {
		return err
	}
	if w.final != nil {
		return w.final(p)
	}
	return nil
}

func (p *disasterProgram) loop(ctx context.Context) error {
	last := uint64(0) // version
	for ; p.iter < p.w.end; p.iter++ {
		if err := p.gate(ctx); err != nil {
			return err
		}
		if p.w.mode == "zero-copy" {
			if err := p.cp.Wait(ctx); err != nil {
				return err
			}
			p.w.settled(p.c.Rank(), last)
		}
		p.step()
		p.w.begun(p.cp.line.attempt.last+1, p.iter)
		if err := p.cp.UpdateAndWrite(ctx, p.iter, 1); err != nil {
			return err
		}
		if p.w.mode != "off" {
			p.w.settled(p.c.Rank(), last)
		}
		if last = p.cp.line.attempt.last; p.w.mode == "off" {
			p.w.settled(p.c.Rank(), last)
		}
	}
	if err := p.cp.Wait(ctx); err != nil {
		return err
	}
	p.w.settled(p.c.Rank(), last)
	return p.compare()
}

// gate begins and ends the time in which nodes are lost, when all ranks are
// there.
func (p *disasterProgram) gate(ctx context.Context) error {
	begins := p.iter == p.w.armAt || p.iter > p.w.armAt && p.w.wide
	ends := p.iter == p.w.armAt+2 && !p.w.wide
	if !begins && !ends {
		return nil
	}
	if err := comm.Barrier(ctx, p.c); err != nil {
		return err
	}
	switch {
	case p.c.Rank() != 0:
	case ends:
		p.w.disarm()
	default:
		if err := p.w.awaitFlush(); err != nil {
			return err
		}
		p.w.arm()
		if p.w.onArm != nil {
			p.w.onArm()
		}
	}
	return comm.Barrier(ctx, p.c)
}

// awaitFlush waits until the parallel file system has what it is to have, so that
// it does not depend on the time what a loss costs.
func (w *world) awaitFlush() error {
	policy, _ := storage.ParsePolicy(w.levels)
	err := eventually(func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		due := int64(-1)
		for version, iter := range w.iters {
			if iter <= slices.Min(w.known[:]) && policy.Plan(version).AtHome() {
				due = max(due, iter)
			}
		}
		return w.newestAtHome() >= due || len(w.ends) > 0 // only of before the first loss
	})
	if err != nil {
		return fmt.Errorf("what is to be flushed is not: %w", err)
	}
	return nil
}

// compare with a program that was never disturbed.
func (p *disasterProgram) compare() error {
	q := disasterValues(p.c)
	for ; q.iter < p.w.end; q.iter++ {
		q.step()
	}
	if !slices.Equal(p.v, q.v) || !slices.Equal(p.sums, q.sums) || p.mine != q.mine {
		return fmt.Errorf("rank %d has another result", p.c.Rank())
	}
	return nil
}
