package checkpoint

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/stack"
)

// survey is what is stored of a checkpoint when an attempt begins.
type survey struct {
	// Entries are all versions, for rank 0 alone.
	Entries []storage.Entry `json:"-"`
	// Fates of the incomplete ones, for rank 0 alone: with levels only.
	Fates map[storage.ID]stack.Fate `json:"-"`
	// Headers of the complete ones that are known, for rank 0 alone.
	Headers map[storage.ID]container.Header `json:"-"`
	// Candidates are the complete versions of the newest lineage, newest first;
	// of a nested checkpoint only those of the present stage.
	Candidates []candidate
	// Older counts complete versions of earlier lineages.
	Older int
	// Highest is the highest number of any version, complete or not, that is known.
	Highest uint64
	// Used is the highest number that any version may have: what follows is newer.
	Used uint64
	// Nesting says how the newest complete version that is known is nested; "" if
	// there is none.
	Nesting string
	// Lost describes a version that was complete, as its note says, and cannot be
	// had now.
	Lost string
	// Unseen describes versions that there may be where this run does not look; for
	// rank 0 alone.
	Unseen string `json:"-"`
}

// candidate is a version that may be restored.
type candidate struct {
	ID    storage.ID
	Ranks int // that wrote it
	// Known is false if no header of it could be read; then the rest is not set.
	Known       bool
	Lineage     container.LineageID
	Fingerprint []byte
	Ancestors   []container.Ancestor
}

// survey looks at the storage from rank 0, which speaks for all because they
// share it, and tells the others.
func (cp *Checkpoint) survey(ctx context.Context) (survey, error) {
	var s survey
	var err error
	if cp.root() {
		s, err = cp.look(ctx)
	}
	return fromRoot(ctx, cp, s, err)
}

func (cp *Checkpoint) look(ctx context.Context) (survey, error) {
	entries, err := cp.store.List(ctx)
	if err != nil {
		return survey{}, err
	}
	s := survey{Entries: entries, Fates: make(map[storage.ID]stack.Fate), Headers: make(map[storage.ID]container.Header)}
	var complete []candidate
	for i := len(entries) - 1; i >= 0; i-- {
		e := entries[i]
		s.Highest = max(s.Highest, e.ID.Version)
		if !e.Complete() {
			if cp.stack != nil {
				s.Fates[e.ID] = cp.stack.Fate(e.ID) // before Gather moves anything
			}
			continue
		}
		c, h, err := cp.identify(ctx, e)
		if err != nil {
			return survey{}, err
		}
		s.Headers[e.ID] = h
		if c.Known && s.Nesting == "" {
			s.Nesting = nesting(c.Ancestors)
		}
		if cp.parent == nil || !c.Known || cp.belongs(c.Ancestors) {
			complete = append(complete, c)
		}
	}
	noted, err := cp.noted(ctx)
	if err != nil {
		return survey{}, err
	}
	var lineage *container.LineageID // of the newest version there is
	if n := noted.Newest; n != nil {
		if len(complete) == 0 || complete[0].ID.Version < n.ID.Version {
			lineage = &n.Lineage
		}
		s.Highest = max(s.Highest, n.ID.Version)
	}
	s.Candidates, s.Older = newestLineage(complete, lineage)
	s.Lost = cp.lost(ctx, entries, noted)
	if s.Used = s.Highest; !cp.hasSeen(noted) {
		s.Used = max(s.Used, noted.Reserved.Version)
		s.Unseen = cp.unseen(noted, entries)
	}
	if s.Used == math.MaxUint64 {
		return survey{}, fmt.Errorf("%s: a version has the highest number that there is, %d: it was not written by this program; remove it", cp.dir(), s.Used)
	}
	_, _ = rand.Read(cp.attempt.id[:]) // never fails
	if len(s.Candidates) > 0 {         // of which parts may be brought to other nodes
		cp.takeOver(ctx, s.Used)
	}
	return s, nil
}

// lost finds a version that has lost parts since it was announced.
func (cp *Checkpoint) lost(ctx context.Context, entries []storage.Entry, noted stack.Noted) string {
	if cp.stack != nil {
		if lost := cp.stack.Lost(); lost != "" {
			return lost
		}
	}
	a, ok := cp.store.Driver.(storage.Announcer)
	if !ok {
		return ""
	}
	name, err := a.Announced(ctx)
	if err != nil {
		name = ""
	}
	for _, e := range entries {
		if e.ID.String() == name && !e.Complete() {
			return cp.store.Path(e.ID) + " was complete and lacks files now: put them back"
		}
	}
	return cp.leftOnNodes(noted, entries)
}

// identify reads the header of the first part that has a good one. Wrong bytes
// in all of them leave the candidate unknown: whoever tries to restore it will
// find the damage.
func (cp *Checkpoint) identify(ctx context.Context, e storage.Entry) (candidate, container.Header, error) {
	c := candidate{ID: e.ID, Ranks: e.Size()}
	for _, part := range e.Parts {
		h, err := cp.store.Header(ctx, cp.name, e.ID, part)
		if errors.Is(err, storage.ErrDamaged) || errors.Is(err, storage.ErrNotFound) {
			continue
		}
		if err != nil {
			return c, h, err
		}
		c.Known, c.Lineage, c.Fingerprint, c.Ancestors = true, h.Lineage, h.Fingerprint, h.Ancestors
		return c, h, nil
	}
	return c, container.Header{Iteration: container.NoIteration}, nil
}

// newestLineage keeps, of complete versions newest first, those of one lineage, if
// that is nil of the newest version that is known, and the unknown ones that may belong to it.
// older is the number of known ones that do not.
func newestLineage(complete []candidate, lineage *container.LineageID) (same []candidate, older int) {
	for _, c := range complete {
		if c.Known && lineage == nil {
			lineage = &c.Lineage
		}
		if c.Known && c.Lineage != *lineage {
			older++
			continue
		}
		if older == 0 {
			same = append(same, c)
		}
	}
	return same, older
}

// restore reads the newest usable version among the candidates and returns its
// header; nil if there are no candidates at all.
func (cp *Checkpoint) restore(ctx context.Context, found survey) (*container.Header, error) {
	var causes []error
	known := false // that one of the damaged ones is of this stage
	switch {
	case found.Lost != "" && cp.root():
		cp.log.Warn("the newest version is not used", "why", found.Lost)
	case found.Unseen != "":
		cp.log.Warn("there may be newer versions on the nodes", "why", found.Unseen)
	}
	for i, c := range found.Candidates {
		h, v, err := cp.tryRestore(ctx, c)
		switch v {
		case fine:
			cp.history.verified = c.ID
			if cp.root() {
				cp.log.Info("restored", "version", c.ID.Version, "iteration", iterationAttr(h.Iteration), "written_by_ranks", c.Ranks)
			}
			return h, nil
		case failed:
			return nil, err
		}
		cp.history.damaged = append(cp.history.damaged, c.ID)
		causes = append(causes, err)
		known = known || c.Known
		if cp.root() {
			cp.log.Warn("version is damaged and set aside", "version", c.ID.Version, "error", err,
				"older_versions_left", len(found.Candidates)-1-i)
		}
	}
	if len(causes) == 0 && found.Lost != "" && cp.parent == nil {
		return nil, fmt.Errorf("%w: %s; there is no other version: to start from zero all the same set CRAFT_READ_CP_ON_RESTART=0",
			ErrNoUsableVersion, found.Lost)
	}
	if len(causes) == 0 {
		return nil, nil
	}
	if cp.parent != nil && !known {
		// They need not be of this stage, and the parent knows where it begins.
		if cp.root() {
			cp.log.Warn("the stage begins anew: only versions whose header is damaged are left", "path", cp.dir(), "versions", len(causes))
		}
		return nil, nil
	}
	if cp.parent != nil {
		return nil, fmt.Errorf("%w: there are %d complete versions of this stage in %s and each is damaged; to do the stage again from its beginning remove that directory: %w",
			ErrNoUsableVersion, len(causes), cp.dir(), errors.Join(causes...))
	}
	return nil, fmt.Errorf("%w: there are %d complete versions in %s and each is damaged; to start from zero all the same set CRAFT_READ_CP_ON_RESTART=0 (%d complete versions of older lineages are not looked at): %w",
		ErrNoUsableVersion, len(causes), cp.dir(), found.Older, errors.Join(causes...))
}

func iterationAttr(i int64) any {
	if i == container.NoIteration {
		return "none"
	}
	return i
}
