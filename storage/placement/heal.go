package placement

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
)

// Heal brings the redundancy of a version, and of those that it refers to, back, in the
// background, if it is not what it should be: every rank gets its part to its own node and
// protects it anew. All ranks call it after Gather, when they have agreed to restore the
// version. Parity that a part is still read through stays: anew it is made of other sets,
// in the place of the old one.
func (s *Placement) Heal(id storage.ID) {
	s.mu.Lock()
	var work []healing
	for _, one := range s.cat.WithBases(id) {
		switch {
		case s.needsHealing(one):
			plan := s.cat.Plan(one).BelowHome()
			work = append(work, healing{id: one, ctx: s.keptFor(one), plan: plan, by: s.healsBy(plan), kept: !s.isWhole(one)})
		case s.torn[one]:
			work = slices.Insert(work, 0, healing{id: one, ctx: s.keptFor(one), torn: true})
		}
		if s.root() {
			s.heals[one] = mayHeal
		}
	}
	s.mu.Unlock()
	if len(work) == 0 {
		return
	}
	s.healing.Add(1)
	s.running.Go(func() {
		defer s.healing.Done()
		s.service.Around(func() {
			for _, w := range work {
				if w.torn {
					s.mend(w.ctx, w.id)
				} else {
					s.heal(w.ctx, w)
				}
			}
		})
	})
}

// healing is a version that is to be what it was.
type healing struct {
	id   storage.ID
	ctx  context.Context // ends when the version is deleted
	torn bool            // only this rank's file is damaged
	plan storage.Levels  // that it was written for
	by   storage.Levels  // whose schemes protect it now; none: nothing does
	kept bool            // the parity that there is has to stay
}

// isWhole reports, on all ranks alike, whether each part is somewhere as such.
func (s *Placement) isWhole(id storage.ID) bool {
	return !slices.ContainsFunc(s.cat.Entry(id).Parts, func(part storage.Part) bool { return !s.cat.Stored(id, part) })
}

var errParityKept = errors.New("a part is on no node as such: the parity that gives it back stays as it is, until the next restart")

// healsBy are the levels whose schemes protect a version anew: those that it was
// written for or, where this job's policy does not have one of them, those that there
// are; none if nothing is to protect it.
func (s *Placement) healsBy(plan storage.Levels) (by storage.Levels) {
	for level := range plan.All() {
		if level.Redundancy != storage.NoRedundancy {
			by = by.With(s.healsLevel(level))
		}
	}
	return by
}

func (s *Placement) healsLevel(level storage.Level) (by storage.Levels) {
	if _, has := s.schemes[level]; has {
		return storage.LevelsOf(level)
	}
	for has := range s.schemes {
		by = by.With(storage.LevelsOf(has))
	}
	return by
}

// Healed waits until this rank has done what Heal asked it to.
func (s *Placement) Healed() { s.healing.Wait() }

// noteTorn remembers that this rank's own file of a version is damaged.
func (s *Placement) noteTorn(src catalog.Source) {
	own := ownKey(src.Key.ID, int(s.me), len(s.nodes.of))
	if src.Parity || src.Key != own || src.At != s.nodes.at(s.me) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.torn[own.ID] = true
}

// mend writes this rank's file of a version anew.
func (s *Placement) mend(ctx context.Context, id storage.ID) {
	err := s.bringHere(ctx, id, storage.Part{Rank: int(s.me), Size: len(s.nodes.of)})
	switch {
	case err == nil:
		s.log.Info("a damaged part was mended", "version", id.Version, "rank", int(s.me))
	case ctx.Err() == nil:
		s.log.Warn("a damaged part is not mended", "version", id.Version, "rank", int(s.me), "directory", s.local.Dir(), "error", err)
	}
}

// needsHealing reports, on all ranks alike, whether a version would not survive
// what its level promises, or is not where its ranks are. One that another number
// of ranks has written stays as it is: its sets are those of other ranks.
func (s *Placement) needsHealing(id storage.ID) bool {
	e := s.cat.Entry(id)
	plan := s.cat.Plan(id).BelowHome()
	if e.Size() != len(s.nodes.of) || plan == 0 {
		return false
	}
	for _, part := range e.Parts {
		if len(s.cat.Nodes(catalog.PartOf(id, part))) == 0 || s.hostOf(id, part) != rankOf(part) {
			return true
		}
	}
	by := s.healsBy(plan)
	if by != 0 && !s.cat.SurvivesANode(id) {
		return true
	}
	for level := range plan.All() {
		if level.Survives.OfEachSet > 1 && by.Include(storage.LevelsOf(level)) && s.cat.LacksAny(id) {
			return true
		}
	}
	return false
}

func rankOf(part storage.Part) comm.Rank { return comm.Rank(part.Rank) }

func (s *Placement) heal(ctx context.Context, h healing) {
	part := storage.Part{Rank: int(s.me), Size: len(s.nodes.of)}
	err := s.bringHere(ctx, h.id, part)
	if h.kept {
		err = errors.Join(err, errParityKept)
	}
	protected := false
	for level := range h.by.All() {
		scheme := s.schemes[level]
		if scheme == nil { // no set has this rank
			continue
		}
		protected = true
		switch {
		case h.kept:
		case err == nil:
			err = s.protect(ctx, scheme, h.id, part)
		default:
			err = errors.Join(err, scheme.Skip(s.work, h.id, part))
		}
	}
	log := s.log.With("version", h.id.Version, "rank", int(s.me), "level", h.plan.String())
	switch {
	case err == nil && protected:
		log.Info("redundancy is back", "protected_by", h.by.String())
		s.reportHealed(ctx, h.id)
	case err == nil:
		log.Info("the part is on its node again, nothing else protects it with these levels")
	case !s.isDeleted(h.id) && ctx.Err() == nil:
		log.Warn("redundancy is not back: another loss of a node could cost the version", "error", err)
	}
}

// reportHealed tells rank 0 that this rank's share in the healing of a version is
// done.
func (s *Placement) reportHealed(ctx context.Context, id storage.ID) {
	if err := s.report(ctx, verbHealed, id); err != nil && ctx.Err() == nil {
		s.log.Debug("rank 0 does not know that redundancy is back", "version", id.Version, "error", err)
	}
}

// allHealed is called on rank 0 when all ranks have healed a version.
func (s *Placement) allHealed(id storage.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	plan := s.cat.Plan(id).BelowHome()
	s.healed[id] = plan.And(s.Possible(s.healsBy(plan)))
}

// bringHere makes sure that this node has a whole file of a part.
func (s *Placement) bringHere(ctx context.Context, id storage.ID, part storage.Part) error {
	key := storage.ObjectKey{ID: id, Kind: storage.KindPart, Part: part}
	if r, err := s.local.OpenObject(ctx, key); err == nil {
		defer r.Close()
		if s.verify(ctx, r, id, part) == nil {
			s.noteOwn(id)
			return nil
		}
	}
	src, err := s.openVerified(ctx, id, part)
	if err != nil {
		return err
	}
	defer src.Close()
	w, err := s.local.CreateObject(ctx, key)
	if err == nil {
		err = copyWhole(ctx, w, src)
	}
	if err == nil {
		s.noteOwn(id)
	}
	return err
}

// noteOwn remembers that this rank's own file of a version is on its node, and
// good.
func (s *Placement) noteOwn(id storage.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own[id] = true
	delete(s.torn, id)
}

// protect gives a scheme the bytes of a part that is on this node.
func (s *Placement) protect(ctx context.Context, scheme Scheme, id storage.ID, part storage.Part) error {
	src, err := s.local.OpenObject(ctx, storage.ObjectKey{ID: id, Kind: storage.KindPart, Part: part})
	if err != nil {
		return errors.Join(err, scheme.Skip(s.work, id, part))
	}
	defer src.Close()
	w, err := scheme.Create(ctx, id, part)
	if err != nil {
		return err
	}
	return copyWhole(ctx, w, src)
}

// copyPiece is how many bytes are copied at once: a transfer of a few pages costs
// more than the pages.
const copyPiece = 1 << 20

// copyWhole copies a part and publishes it, unless ctx has ended: what is published
// after its version is deleted stays.
func copyWhole(ctx context.Context, w storage.PartWriter, src storage.PartReader) error {
	buf := make([]byte, min(copyPiece, max(src.Size(), 1)))
	_, err := io.CopyBuffer(struct{ io.Writer }{w}, io.NewSectionReader(src, 0, src.Size()), buf)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	return w.Commit()
}
