package checkpoint

import (
	"context"
	"slices"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
)

// A computation that was begun anew may be ended in its first stage, which has versions of
// nested checkpoints only. Then the newest version of the outermost checkpoint is of a
// computation before, and nothing but the records of its runs tells that it was abandoned.

// recordNested lets the records of the checkpoints around this one say, before the call returns,
// that a nested one has a version of the stage in which their run is while they have none: behind
// the version that was restored, or, of the outermost one, of the computation that was begun anew.
// If one cannot be written the next version tries again.
func (u *upkeep) recordNested(ctx context.Context, h container.Header) {
	p := u.line.parent
	if p == nil {
		return
	}
	// Of a stage that has ended, of which the version is known only now, nobody asks any more.
	in := catalog.StageOf(h.Ancestors)
	tells := in == catalog.StageOf(u.line.ancestors()) && p.attempt.nested.add(in, u.name)
	for around := p; around != nil; around = around.parent {
		if tells || !around.attempt.nested.written { // a start that gets on in its inner loops is not fruitless
			around.attempt.nested.written = true
			around.up.tellRecord(ctx)
		}
		tells = false
	}
	for _, of := range h.Ancestors {
		if p == nil {
			return
		}
		p.up.recordStage(ctx, h.Lineage, of)
		p = p.parent
	}
}

// recordStage does so in the record of this one, of a version of such a lineage in a stage of it.
func (u *upkeep) recordStage(ctx context.Context, lineage container.LineageID, of container.Ancestor) {
	if u.closed || u.line.attempt.written > 0 || u.mayWrite() != nil {
		return
	}
	stored := u.line.attempt.firstStage(lineage, of)
	if stored == nil || *stored {
		return
	}
	*stored = true
	r := u.dueRecord(false)
	if *stored = r != nil && u.writeRecord(context.WithoutCancel(ctx), *r); r != nil && !*stored {
		u.log.Warn("the record of the run is not written: if the job dies now, the next one may go on with what is stored of the computation before, or of another branch", "path", u.dir())
	}
}

// firstStage is what the record says of a nested version of the first stage of an attempt;
// nil: it is of another one.
func (a *attempt) firstStage(lineage container.LineageID, of container.Ancestor) *bool {
	switch {
	case a.anew != container.LineageID{}:
		if lineage == a.anew && of.Version == 0 {
			return &a.anewStored
		}
	case !a.origin.IsZero() && versionOf(of) == a.origin:
		return &a.nestedStored
	}
	return nil
}

// firstStageStored reports, on rank 0 of a run that has begun and has no version, whether one of a checkpoint nested in this one is
// stored, which the next start goes on from.
func (l *lineage) firstStageStored() bool {
	a := &l.attempt
	return a.begun && (a.nested.written || a.anewStored || len(a.nested.names) > 0 && a.nested.in == catalog.StageOf(l.points()) ||
		l.parent == nil && a.read && storage.StoredInFirstStage(a.before)) // which tell of what is nested in those, too
}

// goesOnAnew is, on rank 0, the lineage that was begun anew, if it is gone on with in its first
// stage; nil: the newest version decides. A version of another one that is newer than the
// record is of a run that has left none.
func (l *looker) goesOnAnew(t catalog.Told, complete []catalog.Candidate) *container.LineageID {
	if top := l.line.outermost(); l.line != top {
		if top.attempt.read && top.attempt.anewStored && !l.line.stageIsNamed() {
			return &top.attempt.anew
		}
		return nil
	}
	if !l.opt.ReadOnRestart {
		return nil
	}
	return catalog.Anew(t, complete)
}

// goOnWith notes that a nested checkpoint goes on with a computation while those around it have no
// version, and were to begin anew: it is theirs too.
func (u *upkeep) goOnWith(ctx context.Context, lineage container.LineageID) {
	if top := u.line.outermost(); top.attempt.anew == (container.LineageID{}) || top.attempt.lineage == lineage || u.line.stageIsNamed() {
		return
	}
	for p := u.line.parent; p != nil; p = p.parent {
		p.attempt.lineage = lineage
		p.up.tellRecord(ctx)
	}
}

// abandonOthers takes the versions of other lineages for abandoned: nobody misses what they
// lack. It returns what is told of the one that is gone on with.
func (l *looker) abandonOthers(ctx context.Context, s *survey, complete []catalog.Candidate) (of []catalog.Claim) {
	for _, c := range complete {
		if !slices.ContainsFunc(s.Candidates, func(o catalog.Candidate) bool { return o.ID == c.ID }) {
			s.abandoned = append(s.abandoned, c)
		}
	}
	for i := range s.versions {
		v := &s.versions[i]
		if v.Complete() {
			continue
		}
		if l := l.lineageOf(ctx, s, v.Entry); l != nil && *l != *s.anew {
			v.elsewhere = true
		}
	}
	for _, one := range s.told.Claims {
		if one.Lineage == nil || *one.Lineage == *s.anew {
			of = append(of, one)
		}
	}
	return of
}

// lineageOf is that of a stored version; nil if it is not known.
func (l *looker) lineageOf(ctx context.Context, s *survey, e storage.Entry) *container.LineageID {
	if l := s.told.LineageOf(e.ID.Attempt); l != nil {
		return l
	}
	for _, other := range s.versions {
		if other.Complete() && other.ID.Attempt == e.ID.Attempt && other.header.Attempt == e.ID.Attempt {
			return &other.header.Lineage
		}
	}
	c, _, _ := l.identify(ctx, e) // if that fails, it is not known
	return c.Lineage
}

// tellReplaced says which versions will be replaced by those of a run that has restored nothing.
func (st *starting) tellReplaced(found survey, read bool) {
	switch {
	case read && len(found.Candidates) == 0 && len(found.abandoned) > 0:
		st.rootLog.Warn("the computation that was begun anew is gone on with in its first stage; its versions will replace those of the ones before",
			"complete_versions", len(found.abandoned), "path", st.dir())
	case len(found.Candidates)+len(found.abandoned) > 0:
		st.rootLog.Warn("a new lineage starts without reading what is stored; its versions will replace the stored ones",
			"complete_versions", len(found.Candidates)+found.Older, "path", st.dir())
	}
}
