package placement

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/exchange"
)

func ownKey(id storage.ID, rank, size int) storage.ObjectKey {
	return storage.ObjectKey{ID: id, Kind: storage.KindPart, Part: storage.Part{Rank: rank, Size: size}}
}

// Create implements storage.Driver: the part goes to the node and, as it is
// written, to what protects it there.
func (s *Placement) Create(ctx context.Context, id storage.ID, part storage.Part) (storage.PartWriter, error) {
	w := &writer{s: s, ctx: ctx, id: id, part: part}
	err := s.avoided()
	if err == nil {
		w.own, err = s.local.CreateObject(ctx, storage.ObjectKey{ID: id, Kind: storage.KindPart, Part: part})
	}
	if err != nil {
		if err = w.spill(err); err != nil {
			return nil, errors.Join(err, s.Skip(ctx, id, part))
		}
	}
	for level, scheme := range s.planned(id) {
		p, err := scheme.Create(ctx, id, part)
		if err != nil {
			w.weaken(level, err)
			continue
		}
		w.protections = append(w.protections, protecting{p, level})
	}
	return w, nil
}

// planned are the schemes that protect a version, by their levels.
func (s *Placement) planned(id storage.ID) iter.Seq2[storage.Level, Scheme] {
	return func(yield func(storage.Level, Scheme) bool) {
		for level := range s.Plan(id.Version).All() {
			if scheme := s.schemes[level]; scheme != nil && !yield(level, scheme) {
				return
			}
		}
	}
}

// Skip tells the others that this rank does not write its part of a version, so
// that they do not wait for it.
func (s *Placement) Skip(ctx context.Context, id storage.ID, part storage.Part) (err error) {
	for _, scheme := range s.planned(id) {
		err = errors.Join(err, scheme.Skip(ctx, id, part))
	}
	return err
}

// writer is a part on its way to the node and to what protects it.
type writer struct {
	s           *Placement
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
const protectedPiece = 256 << 10

func (w *writer) Write(p []byte) (int, error) {
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

func (w *writer) writePiece(p []byte) (int, error) {
	w.protections = slices.DeleteFunc(w.protections, func(protection protecting) bool {
		_, err := protection.Write(p)
		if err != nil {
			w.weaken(protection.level, errors.Join(err, protection.Abort()))
		}
		return err != nil
	})
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
	var g errgroup.Group
	protections := w.protections
	w.protections = nil
	weak := make([]error, len(protections))
	for i, protection := range protections {
		g.Go(func() error {
			w.s.service.Around(func() { weak[i] = protection.Commit() })
			return nil
		})
	}
	err := w.own.Commit()
	_ = g.Wait()
	for i, protection := range protections {
		switch {
		case weak[i] != nil:
			w.weaken(protection.level, weak[i])
		case !w.stuck: // a failing node has a share in protecting its own parts too
			w.strong()
		}
	}
	if err != nil && movable(err) && !w.spilled {
		w.s.avoid(err)
		return fmt.Errorf("%w (a part that the node does not take at the last moment cannot be sent elsewhere)", err)
	}
	if err == nil && !w.spilled {
		w.s.took()
	}
	if err == nil && w.spilled {
		if err := w.checkPlace(); err != nil {
			return err
		}
		w.s.mu.Lock()
		w.s.cat.AddPart(w.id, w.part, catalog.Home)
		w.s.sent[w.id] = true
		w.s.mu.Unlock()
	}
	return err
}

// checkPlace returns an error if the part has gone where nobody finds it. If rank 0
// cannot be asked it is taken for stored.
func (w *writer) checkPlace() error {
	err := w.s.checkPlace(w.ctx, w.id, w.part)
	var astray *PlaceError
	if err == nil || errors.As(err, &astray) {
		return err
	}
	w.s.log.Debug("it is not known whether rank 0 finds a part", "version", w.id.Version, "rank", w.part.Rank, "error", err)
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
	w.s.mu.Lock()
	first := w.s.weak[w.id] == nil
	if first {
		w.s.weak[w.id] = make(map[storage.Level]error)
	}
	w.s.weak[w.id][level] = why
	w.s.mu.Unlock()
	if !first || w.ctx.Err() != nil {
		return
	}
	w.s.tell(w.s.unprotected.raise(failing(why)), "a version is not protected as planned, it is kept on its own node alone",
		"version", w.id.Version, "rank", w.part.Rank, "level", level.String(), "error", why)
}

// failing is what kind of trouble it is with what protects parts: a new one is told
// of, even if it begins before the last one is over.
func failing(why error) string {
	problem := refusal(why)
	switch {
	case problem != "":
		return problem
	case errors.Is(why, comm.ErrProcFailed):
		return "a process failed"
	case errors.Is(why, exchange.ErrClosed):
		return "a rank has ended"
	}
	return "it fails"
}

// strong notes that the part is protected as it should be.
func (w *writer) strong() {
	if w.s.unprotected.ease() != "" {
		w.s.log.Info("the parts of this rank are protected as planned again", "version", w.id.Version, "rank", w.part.Rank)
	}
}
