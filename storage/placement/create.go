package placement

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/nodelocal"
)

// creator starts parts.
type creator struct {
	home     storage.Driver
	local    *nodelocal.Store
	planner  *planner
	schemes  schemes
	register *register
	commands *commands
	troubles *troubles
	around   func(func())
}

// create lets the part go to the node and, as it is written, to what protects it there.
func (c *creator) create(ctx context.Context, id storage.ID, part storage.Part) (storage.PartWriter, error) {
	w := &writer{creator: c, ctx: ctx, id: id, part: part}
	plan := c.planner.plan(id.Version)
	if c.schemes.memoryAlone(plan) {
		return c.inMemory(ctx, plan, id, part)
	}
	err := c.troubles.avoided()
	if err == nil {
		w.own, err = c.local.CreateObject(ctx, catalog.PartOf(id, part))
	}
	if err != nil {
		if err = w.spill(err); err != nil {
			return nil, errors.Join(err, c.schemes.skip(ctx, plan, id, part))
		}
	}
	for level, scheme := range c.schemes.of(plan) {
		p, err := scheme.Create(ctx, id, part)
		if err != nil {
			w.weaken(level, err)
			continue
		}
		w.protections = append(w.protections, protecting{p, level})
	}
	return w, nil
}

// inMemory starts a part of which there is no file. It is there when all copies are: nothing else
// would take its place.
func (c *creator) inMemory(ctx context.Context, plan storage.Levels, id storage.ID, part storage.Part) (storage.PartWriter, error) {
	for _, scheme := range c.schemes.of(plan) {
		return scheme.Create(ctx, id, part)
	}
	return nil, fmt.Errorf("%w: nothing keeps versions at level %v", ErrConfig, plan) // not reached: there is one that does
}

// writer is a part on its way to the node and to what protects it.
type writer struct {
	*creator

	ctx         context.Context
	id          storage.ID
	part        storage.Part
	own         storage.PartWriter
	protections []protecting // those that have not failed
	spilled     bool
	stuck       bool // it spilled because its node takes nothing at all any more
}

// protecting is what protects a part at a level.
type protecting struct {
	storage.PartWriter

	level storage.Level
}

// protectedPiece is how many bytes are given at once to what protects a part and then
// to its own file: so few that they are still in the cache of the core.
const protectedPiece = 1 << 20

func (w *writer) Write(p []byte) (int, error) {
	defer w.protect(func(protection storage.PartWriter) error { return storage.GiveBack(protection) })
	done := 0
	for len(w.protections) > 0 && len(p)-done > protectedPiece {
		n, err := w.writePiece(p[done : done+protectedPiece])
		if done += n; err != nil {
			return done, err
		}
	}
	n, err := w.writePiece(p[done:])
	return done + n, err
}

// protect does something with all that protects the part, and goes on without what fails.
func (w *writer) protect(do func(storage.PartWriter) error) {
	w.protections = slices.DeleteFunc(w.protections, func(protection protecting) bool {
		err := do(protection.PartWriter)
		if err != nil {
			w.weaken(protection.level, errors.Join(err, protection.Abort()))
		}
		return err != nil
	})
}

func (w *writer) writePiece(p []byte) (int, error) {
	w.protect(func(protection storage.PartWriter) error { return storage.Borrow(protection, p) })
	n, err := w.own.Write(p)
	if err != nil && movable(err) && !w.spilled {
		if err = w.moveHome(err); err != nil {
			return n, err
		}
		rest, err := w.own.Write(p[n:])
		return n + rest, err
	}
	return n, err
}

// Commit publishes the part. That what protects it fails makes the version less
// safe, but it is there.
func (w *writer) Commit() error {
	var running sync.WaitGroup
	protections := w.protections
	w.protections = nil
	weak := make([]error, len(protections))
	for i, protection := range protections {
		running.Go(func() {
			w.around(func() { weak[i] = protection.Commit() })
		})
	}
	err := w.own.Commit()
	running.Wait()
	for i, protection := range protections {
		switch {
		case weak[i] != nil:
			w.weaken(protection.level, weak[i])
		case !w.stuck: // a failing node has a share in protecting its own parts too
			w.troubles.strong(w.id)
		}
	}
	if err != nil && movable(err) && !w.spilled {
		w.troubles.avoid(err)
		return fmt.Errorf("%w (a part that the node does not take at the last moment cannot be sent elsewhere)", err)
	}
	if err == nil && !w.spilled {
		w.troubles.took()
	}
	if err == nil && w.spilled {
		if err := w.checkPlace(); err != nil {
			return err
		}
		w.register.noteSent(w.id)
		w.register.cameHome(w.id, w.part)
	}
	return err
}

// checkPlace returns an error if the part has gone where nobody finds it. If rank 0
// cannot be asked it is taken for stored.
func (w *writer) checkPlace() error {
	err := w.commands.seenAtHome(w.ctx, w.id, w.part)
	var astray *PlaceError
	if err == nil || errors.As(err, &astray) {
		return err
	}
	w.troubles.log.Debug("it is not known whether rank 0 finds a part", "version", w.id.Version, "error", err)
	return nil
}

func (w *writer) Abort() error {
	err := w.own.Abort()
	for _, protection := range w.protections {
		err = errors.Join(err, protection.Abort())
	}
	return err
}

// weaken notes why the part is not protected as it should be.
func (w *writer) weaken(level storage.Level, why error) {
	if w.planner.weaken(w.id, level) && w.ctx.Err() == nil {
		w.troubles.weak(w.id, level, why)
	}
}

// spill starts the part at home because the node does not take it.
func (w *writer) spill(why error) (err error) {
	problem := refusal(why)
	if problem == "" {
		return why
	}
	own, err := w.home.Create(w.ctx, w.id, w.part)
	if err != nil {
		return errors.Join(why, err)
	}
	w.own, w.spilled, w.stuck = own, true, stuck(why)
	w.troubles.spills(w.id, problem, why)
	return nil
}

// moveHome goes on at home in the middle of a part.
func (w *writer) moveHome(why error) error {
	full := w.own
	back, ok := full.(storage.ReadBack)
	if !ok {
		return why
	}
	if err := w.spill(why); err != nil {
		return err
	}
	r, size := back.Written()
	err := copyBytes(w.own, r, size)
	if aborted := full.Abort(); err == nil && aborted != nil {
		w.troubles.log.Debug("a part that did not fit is not removed", "directory", w.troubles.root, "error", aborted)
	}
	if err != nil {
		return errors.Join(why, err)
	}
	return nil
}
