package checkpoint

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/manifest"
)

// lastNumber is the highest number that a version may have when an attempt begins: what
// the attempt adds to it must not begin again at zero.
const lastNumber = math.MaxUint64 - 1<<32

// survey is what is stored of a checkpoint when an attempt begins. What other ranks are not
// told, because nobody asks them for it, is unexported.
type survey struct {
	doubts

	// Candidates are the complete versions of the newest lineage, newest first;
	// of a nested checkpoint only those of the present stage.
	Candidates []catalog.Candidate
	// Older counts complete versions of earlier lineages.
	Older int
	// Highest is the highest number of any version, complete or not, that is known.
	Highest uint64
	// Used is the highest number that any version may have: what follows is newer.
	Used uint64
	// Certain is the highest number of a version whose lineage is known: of newer ones
	// nobody knows whether they belong to the candidates.
	Certain uint64
	// Nesting says how the newest complete version that is known is nested; "" if
	// there is none.
	Nesting string
	// Late is why this start of the job ends before it has begun; nil: it does not.
	Late *lateError
	// Own: only what this job has written counts, as it began without reading.
	Own bool

	versions []sighting // all, oldest first
	// abandoned are candidates of other lineages where the one that was begun anew is gone on
	// with, newest first.
	abandoned []catalog.Candidate
	anew      *container.LineageID // that one, of the outermost checkpoint; nil: there is none
	damaged   []storage.ID         // versions that earlier runs have set aside
	// Milestones are those among the candidates' that no restart takes by itself.
	Milestones []storage.ID
	told       catalog.Told
	// Back is the branch that a way back has begun, if that decides what is gone on from; nil: none does.
	Back    *branching
	back    *goingBack       // the same, and more
	given   *storage.WayBack // that nobody has taken, and that this start passes over
	reached int64            // the last iteration that was done before, without files
}

// sighting is a version, complete or not, as it was found.
type sighting struct {
	storage.Entry
	// header is that of a complete version, or of an incomplete one of a nested checkpoint of
	// which a part is there; zero if it is not known.
	header container.Header
	status catalog.LossStatus // of an incomplete one
	// elsewhere: it is of another stage than the present one, or of a computation that was
	// abandoned, or passed over.
	elsewhere bool
	passed    bool // by a way back
}

// survey looks at the storage from rank 0, which speaks for all because they
// share it, and tells the others.
func (st *starting) survey(ctx context.Context) (survey, error) {
	var s survey
	err := st.placement.Survey(ctx)
	if err != nil && st.placement.OnNodes() {
		return s, err // on all ranks
	}
	if err == nil && st.root() {
		s, err = (&looker{st.core, st.line, st.reads}).look(ctx)
		s.Late = lateStart(ctx, st, s)
	}
	return fromRoot(ctx, st.core, s, err)
}

// looker looks at what is stored when an attempt begins, on rank 0.
type looker struct {
	*core
	line  *lineage
	reads bool // what is stored is to be gone on from
}

func (l *looker) look(ctx context.Context) (survey, error) {
	entries, err := l.store.List(ctx)
	if err != nil {
		return survey{}, err
	}
	var s survey
	for _, e := range entries {
		s.versions = append(s.versions, sighting{Entry: e})
	}
	complete, err := l.headers(ctx, &s)
	if err != nil {
		return survey{}, err
	}
	state := l.placement.Manifest().State()
	told, err := l.told(ctx, state)
	if err != nil {
		return survey{}, err
	}
	if s.Highest = max(s.Highest, told.Highest); s.Highest > lastNumber {
		return survey{}, fmt.Errorf("%s: a version has a number that no program reaches, %d (or %s tells of one): it was not written by this program; remove it", l.dir(), s.Highest, cmp.Or(told.By, "a file"))
	}
	if complete, err = l.goBack(&s, complete, &told); err != nil {
		return survey{}, err
	}
	if err := l.away(entries, s.newestWanted(complete)); err != nil {
		return survey{}, err
	}
	unknown := 0
	if s.back == nil {
		unknown = l.unknownToHome(complete, told, state)
	}
	var own *container.LineageID
	if s.Own = l.line.recovers(); s.Own {
		l := l.line.freshLineage()
		own = &l
	} else if s.back != nil && len(complete) > 0 {
		own = complete[0].Lineage
	} else {
		s.anew = l.goesOnAnew(told, complete)
		own = s.anew
	}
	s.Candidates, s.Older, s.Certain = catalog.NewestLineage(complete[unknown:], complete[:unknown], told, own)
	head := catalog.GoneOnFrom(told.Runs, idsOf(complete[unknown:]))
	var others []catalog.Candidate
	s.Candidates, others = catalog.OthersLast(told.Origins(complete), s.Candidates, head)
	s.damaged = catalog.StillDamaged(told.Damaged, entries, s.Candidates)
	if len(s.Candidates) > 0 {
		newest, astray := s.Candidates[0].ID, idsOf(slices.Concat(others, complete[:unknown])) // which may be of another computation
		s.branch = describeBranch(newest, astray, told.Damaged)
		s.leftDamaged = describeDamaged(newest, astray, s.damaged)
	}
	if s.branch == "" && !s.Own {
		s.branch = l.overtaken(told, complete, s.Candidates)
	}
	if !s.Own {
		s.Unannounced = l.describeUnannounced(complete, told, state, s.branch)
	}
	s.told = told
	l.findLosses(&s)
	if s.anew != nil {
		told.Claims = l.abandonOthers(ctx, &s, complete)
	}
	s.Lost = cmp.Or(l.missing(told, state, newestOf(complete[unknown:])), l.parentAway(s.versions))
	if s.Lost == "" && len(s.Candidates)+len(s.abandoned) == 0 && !s.Own {
		s.Lost = l.nestedAway()
	}
	if err := l.withoutOldMilestones(&s); err != nil {
		return survey{}, err
	}
	s.Used, s.unseen = s.Highest, l.placement.Absence().Doubt()
	if !l.hasSeen(state) {
		if s.Used = max(s.Used, state.Reserved.Version); s.Used > lastNumber {
			return survey{}, fmt.Errorf("%s: %s is damaged: it reserves numbers of versions that no program reaches, up to %d; put an earlier one back, or correct \"reserved\" in it", l.dir(), manifest.Name, s.Used)
		}
		s.unseen = l.unseen(state, entries)
	}
	s.resumed = l.resumed(s)
	if s.back != nil {
		s.back.doubtless(&s, state.Reserved)
	}
	_, _ = rand.Read(l.line.attempt.id[:]) // never fails
	return s, nil
}

// newestWanted is the number from which on nothing may be away.
func (s *survey) newestWanted(complete []catalog.Candidate) uint64 {
	if s.Back != nil && s.Back.Initial {
		return math.MaxUint64 // it is passed over
	}
	return newestOf(complete)
}

// newestOf is the number of the first of them, 0 if there is none.
func newestOf(list []catalog.Candidate) uint64 {
	if len(list) == 0 {
		return 0
	}
	return list[0].ID.Version
}

// headers reads a header of each complete version and returns those that may be
// restored, of all lineages, newest first.
func (l *looker) headers(ctx context.Context, s *survey) (complete []catalog.Candidate, err error) {
	for i := range slices.Backward(s.versions) {
		v := &s.versions[i]
		s.Highest = max(s.Highest, v.ID.Version)
		if !v.Complete() && l.line.parent == nil {
			continue
		}
		c, h, err := l.identify(ctx, v.Entry)
		switch {
		case !v.Complete():
			if err == nil && c.Known { // a part of it is there
				v.header, v.elsewhere = h, !l.line.belongs(c.Ancestors)
			}
			continue
		case err != nil:
			return nil, err
		}
		v.header = h
		if c.Known && s.Nesting == "" {
			s.Nesting = nesting(c.Ancestors)
		}
		if l.line.parent == nil || !c.Known || l.line.belongs(c.Ancestors) {
			complete = append(complete, c)
		}
	}
	return complete, nil
}

// findLosses says what has become of the incomplete versions, before Gather moves anything.
func (l *looker) findLosses(s *survey) {
	for i := range s.versions {
		if v := &s.versions[i]; !v.Complete() {
			v.status = l.placement.Absence().LossStatus(v.ID, s.told.TellsOf(v.ID))
		}
	}
}

// away looks for versions of which links lead nowhere, or that are perhaps where nothing
// can be read. They are not gone, and one that is newer than all that can be had is not
// done without.
func (l *looker) away(entries []storage.Entry, newest uint64) error {
	for _, e := range slices.Backward(entries) {
		switch {
		case len(e.Away) == 0 || e.Complete():
		case e.ID.Version > newest:
			return fmt.Errorf("version %d is newer than what can be read, and away: %s; mount it, mend what cannot be read, or delete that if the version is not needed",
				e.ID.Version, strings.Join(e.Away, "; "))
		default:
			l.log.Warn("an older version is away", "version", e.ID.Version, "why", strings.Join(e.Away, "; "))
		}
	}
	return nil
}

// identify reads the header of the first part that has a good one: what counts here is the
// same in all of them. Wrong bytes in all of them leave the candidate unknown: whoever tries
// to restore it will find the damage. If there is no good one, but one that cannot be read
// now, that is an error.
func (l *looker) identify(ctx context.Context, e storage.Entry) (catalog.Candidate, container.Header, error) {
	c := catalog.Candidate{ID: e.ID, Ranks: e.Size()}
	var passing error // the first one
	for _, part := range e.Parts {
		h, err := l.store.Header(ctx, l.name, e.ID, part)
		if err == nil {
			c.Describe(h)
			return c, h, nil
		}
		if ctx.Err() != nil {
			return c, h, err
		}
		if passing == nil && storage.Passing(err) {
			passing = err
		}
	}
	return c, container.Header{Iteration: container.NoIteration}, passing
}

// restore reads the newest usable version among the candidates and returns its
// header; nil if there are no candidates at all.
func (st *starting) restore(ctx context.Context, found survey) (*container.Header, error) {
	var causes []error
	known := false // that one of the damaged ones is of this stage
	st.warn(found)
	for i, c := range found.Candidates {
		if err := st.belongsTogether(found, i, causes); err != nil {
			return nil, err
		}
		h, v, err := st.tryRestore(ctx, c, found.Candidates[i+1:])
		switch v {
		case fine:
			if c.Other {
				st.rootLog.Warn("the restored version is of another branch than the newest one, of which nothing can be used", "version", c.ID.Version)
			}
			st.tellEnded(found, h)
			returning{st, found}.tell(c)
			st.rootLog.Info("restored", "version", c.ID.Version, "iteration", iterationAttr(h.Iteration), "written_by_ranks", c.Ranks)
			return h, nil
		case failed:
			return nil, err
		}
		if st.line.attempt.strict { // it was good a moment ago
			return nil, st.opt.refuse(reason{AllowDamaged, err.Error()})
		}
		st.line.stored.SetAside(c.ID)
		causes = append(causes, err)
		known = known || c.Known
		st.rootLog.Warn("version is damaged and set aside", "version", c.ID.Version, "error", err,
			"older_versions_left", len(found.Candidates)-1-i)
	}
	if len(causes) == 0 {
		why := found.Lost
		if why == "" {
			st.tellEnded(found, nil)
			if err := st.tellAnew(ctx); err != nil {
				return nil, err
			}
		}
		if why == "" || st.line.parent != nil || found.Own {
			return nil, nil
		}
		if found.Unannounced != "" {
			why += "; " + found.Unannounced
		}
		why += found.orMilestones()
		return nil, fmt.Errorf("%w: %s; there is no other version of its computation (and %d complete ones of others, which are not looked at): to start from zero all the same set CRAFT_READ_CP_ON_RESTART=0",
			ErrNoUsableVersion, why, found.Older)
	}
	if st.line.parent != nil && !known {
		// They need not be of this stage, and the parent knows where it begins.
		touched, err := comm.AllreduceOne(ctx, st.comm, int64(len(st.reg.touched)), comm.Max[int64])
		if err != nil {
			return nil, err
		}
		if touched == 0 {
			st.rootLog.Warn("the stage begins anew: only versions whose header is damaged are left", "path", st.dir(), "versions", len(causes))
			return nil, nil
		}
	}
	if st.line.parent != nil {
		return nil, fmt.Errorf("%w: there are %d complete versions of this stage in %s and each is damaged; to do the stage again from its beginning remove that directory: %w",
			ErrNoUsableVersion, len(causes), st.dir(), errors.Join(causes...))
	}
	return nil, fmt.Errorf("%w: there are %d complete versions in %s and each is damaged%s; to start from zero all the same set CRAFT_READ_CP_ON_RESTART=0 (%d complete versions of older lineages are not looked at): %w",
		ErrNoUsableVersion, len(causes), st.dir(), found.orMilestones(), found.Older, errors.Join(causes...))
}

// belongsTogether returns an error if all newer candidates are damaged and nobody knows
// whether they belong to the computation of this one: it may have been abandoned.
func (st *starting) belongsTogether(found survey, i int, causes []error) error {
	c, first := found.Candidates[i], found.Candidates[0]
	if c.Lineage == nil || first.ID.Version <= found.Certain || st.line.parent != nil && st.line.stageIsNamed() {
		return nil
	}
	return fmt.Errorf("%w: %s is damaged, and nothing reports whether it continues the computation of version %d or began a new one; to go on from version %d remove it, to start from zero set CRAFT_READ_CP_ON_RESTART=0: %w",
		ErrNoUsableVersion, st.home.Path(first.ID), c.ID.Version, c.ID.Version, errors.Join(causes...))
}

func iterationAttr(i int64) any {
	if i == container.NoIteration {
		return "none"
	}
	return i
}
