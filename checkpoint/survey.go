package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// survey is what is stored of a checkpoint when an attempt begins.
type survey struct {
	// Entries are all versions, for rank 0 alone.
	Entries []storage.Entry `json:"-"`
	// Ancestors of the complete ones, for rank 0 alone.
	Ancestors map[storage.ID][]container.Ancestor `json:"-"`
	// Candidates are the complete versions of the newest lineage, newest first;
	// of a nested checkpoint only those of the present stage.
	Candidates []candidate
	// Older counts complete versions of earlier lineages.
	Older int
	// Highest is the highest number of any version, complete or not.
	Highest uint64
	// Nesting says how the newest complete version that is known is nested; "" if
	// there is none.
	Nesting string
	// Lost is a version that was complete, as its note says, and lacks parts
	// now: its directory.
	Lost string
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
	s := survey{Entries: entries, Ancestors: make(map[storage.ID][]container.Ancestor)}
	var complete []candidate
	for i := len(entries) - 1; i >= 0; i-- {
		e := entries[i]
		s.Highest = max(s.Highest, e.ID.Version)
		if !e.Complete() {
			continue
		}
		c, err := cp.identify(ctx, e)
		if err != nil {
			return survey{}, err
		}
		s.Ancestors[e.ID] = c.Ancestors
		if c.Known && s.Nesting == "" {
			s.Nesting = nesting(c.Ancestors)
		}
		if cp.parent == nil || !c.Known || cp.belongs(c.Ancestors) {
			complete = append(complete, c)
		}
	}
	if s.Highest == math.MaxUint64 {
		return survey{}, fmt.Errorf("%s: a version has the highest number that there is, %d: it was not written by this program; remove it", cp.dir(), s.Highest)
	}
	s.Candidates, s.Older = newestLineage(complete)
	s.Lost = cp.lost(ctx, entries)
	return s, nil
}

// lost finds a version that has lost parts since it was announced.
func (cp *Checkpoint) lost(ctx context.Context, entries []storage.Entry) string {
	a, ok := cp.store.Driver.(storage.Announcer)
	if !ok {
		return ""
	}
	name, err := a.Announced(ctx)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if e.ID.String() == name && !e.Complete() {
			return cp.store.Path(e.ID)
		}
	}
	return ""
}

// identify reads the header of the first part that has a good one. Wrong bytes
// in all of them leave the candidate unknown: whoever tries to restore it will
// find the damage.
func (cp *Checkpoint) identify(ctx context.Context, e storage.Entry) (candidate, error) {
	c := candidate{ID: e.ID, Ranks: e.Size()}
	for _, part := range e.Parts {
		h, err := cp.store.Header(ctx, cp.name, e.ID, part)
		if errors.Is(err, storage.ErrDamaged) || errors.Is(err, storage.ErrNotFound) {
			continue
		}
		if err != nil {
			return c, err
		}
		c.Known, c.Lineage, c.Fingerprint, c.Ancestors = true, h.Lineage, h.Fingerprint, h.Ancestors
		return c, nil
	}
	return c, nil
}

// newestLineage keeps, of complete versions newest first, those of the lineage
// of the newest one that is known, and the unknown ones that may belong to it.
// older is the number of known ones that do not.
func newestLineage(complete []candidate) (same []candidate, older int) {
	var lineage *container.LineageID
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
	if found.Lost != "" && cp.root() {
		cp.log.Warn("the newest version lacks files and is not used", "path", found.Lost)
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
		return nil, fmt.Errorf("%w: %s was complete and lacks files now, and there is no other version; put them back, or start from zero with CRAFT_READ_CP_ON_RESTART=0",
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
